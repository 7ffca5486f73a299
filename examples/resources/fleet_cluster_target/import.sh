# By the name of the target. Everything on the provider's clusters that carries the
# provider's owner and this name is taken up as it is.
terraform import fleet_cluster_target.prod prod

# Only what is on some of the clusters, for example because another one is down.
terraform import fleet_cluster_target.prod prod/eu-1,eu-2
