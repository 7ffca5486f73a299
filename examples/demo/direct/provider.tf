# One provider block, three clusters.

variable "kubeconfig" { type = string }
variable "contexts" { type = list(string) }
variable "edge_env" {
  type    = string
  default = "prod"
}

provider "fleet" {
  owner = "demo"
  clusters = {
    dev  = { config_path = var.kubeconfig, config_context = var.contexts[0], labels = { env = "dev" } }
    main = { config_path = var.kubeconfig, config_context = var.contexts[1], labels = { env = "prod" } }
    edge = { config_path = var.kubeconfig, config_context = var.contexts[2], labels = { env = var.edge_env } }
  }
}
