# "apps-web-shop-" and a hash of what is lost.
output "release" {
  value = provider::fleet::release_name("apps/Web_Shop")
}
