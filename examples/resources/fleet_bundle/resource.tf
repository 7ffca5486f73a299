# A chart of a Helm repository. The newest version that fits is looked up once and pinned.
resource "fleet_bundle" "ingress_nginx" {
  name              = "ingress-nginx"
  chart             = { repo = "https://kubernetes.github.io/ingress-nginx", name = "ingress-nginx", version = "~4.11" }
  default_namespace = "ingress"

  helm = {
    values = yamlencode({ controller = { replicaCount = 1 } })
  }
  target_customizations = [{
    cluster_selector = { match_labels = { env = "prod" } }
    helm             = { values = yamlencode({ controller = { replicaCount = 3 } }) }
  }]
}

# A chart of an OCI registry.
resource "fleet_bundle" "podinfo" {
  name  = "podinfo"
  chart = { repo = "oci://ghcr.io/stefanprodan/charts/podinfo", version = "6.7.1" }
}

# A folder of a git repository.
resource "fleet_bundle" "web" {
  name = "web"
  git  = { repo = "https://github.com/acme/web", revision = "v1.4.0", path = "deploy/chart" }
}

# A chart, manifests or both in a folder beside the configuration.
resource "fleet_bundle" "ingress" {
  name              = "ingress"
  directory         = "./ingress"
  default_namespace = "ingress"

  helm = {
    release_name = "ingress"
    values       = yamlencode({ replicas = 2 })
  }
}

# Files written in HCL.
resource "fleet_bundle" "motd" {
  name      = "motd"
  namespace = "motd"

  files = {
    "configmap.yaml" = yamlencode({
      apiVersion = "v1"
      kind       = "ConfigMap"
      metadata   = { name = "motd" }
      data       = { text = "Managed by Terraform." }
    })
  }
}
