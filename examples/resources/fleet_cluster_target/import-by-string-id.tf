import {
  to = fleet_cluster_target.prod
  id = "prod"
}
