# { image = { repository = "web", tag = "1.4.1" }, replicas = 3 }
output "values" {
  value = provider::fleet::merge_values(
    { image = { repository = "web", tag = "1.4.0" }, replicas = 1 },
    { image = { tag = "1.4.1" }, replicas = 3 },
  )
}
