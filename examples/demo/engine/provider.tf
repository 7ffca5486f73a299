# The management cluster of a Rancher Fleet. It knows the clusters and their labels.

variable "kubeconfig" { type = string }

provider "fleet" {
  owner = "demo"
  engine = {
    config_path    = var.kubeconfig
    config_context = "mgmt"
    namespace      = "fleet-default"
  }
}
