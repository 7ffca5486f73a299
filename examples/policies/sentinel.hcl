policy "fleet" {
  source            = "./fleet.sentinel"
  enforcement_level = "hard-mandatory"
}

# The recorded plan, for `sentinel apply fleet.sentinel`.
mock "tfplan/v2" {
  module {
    source = "mock-tfplan-v2.sentinel"
  }
}
