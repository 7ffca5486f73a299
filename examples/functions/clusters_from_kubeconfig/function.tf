locals {
  # In a configuration: file("kubeconfig.yaml"), or the output of a module.
  kubeconfig = <<-YAML
    apiVersion: v1
    kind: Config
    clusters:
      - { name: one, cluster: { server: "https://eu-1.example.com" } }
      - { name: two, cluster: { server: "https://us-1.example.com" } }
    users:
      - { name: ci, user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: get-token, interactiveMode: Never } } }
    contexts:
      - { name: Prod_EU_1, context: { cluster: one, user: ci } }
      - { name: Prod_US_1, context: { cluster: two, user: ci } }
  YAML

  # A value for clusters of the provider. What is no letter or digit in the name of a context becomes
  # a dash.
  clusters = {
    for context, entry in provider::fleet::clusters_from_kubeconfig(local.kubeconfig) :
    replace(lower(context), "/[^a-z0-9]+/", "-") => merge(entry, { labels = { env = "prod" } })
  }
}

# ["prod-eu-1", "prod-us-1"]
output "names" {
  value = keys(local.clusters)
}
