locals {
  clusters = {
    dev  = { env = "dev" }
    eu-1 = { env = "prod", region = "eu" }
  }
}

# The clusters that a rule would choose: ["eu-1"].
output "prod" {
  value = [for name, labels in local.clusters : name if provider::fleet::match({ match_labels = { env = "prod" } }, labels)]
}
