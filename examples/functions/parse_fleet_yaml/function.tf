locals {
  options = provider::fleet::parse_fleet_yaml(file("${path.module}/fleet.yaml"))
}

output "namespace" {
  value = local.options.defaultNamespace
}
