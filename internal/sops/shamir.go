package sops

// combine makes a secret from its parts. It is Shamir's secret sharing in GF(2^8), as in SOPS and
// Vault (SOPS' shamir/shamir.go). The last byte of a part is the x coordinate at which its
// polynomials were evaluated.
func combine(parts [][]byte) (secret []byte, ok bool) {
	if len(parts) < 2 || len(parts[0]) < 2 {
		return nil, false
	}
	size := len(parts[0])
	at := make([]byte, len(parts))
	seen := map[byte]bool{0: true} // The value at 0 is the secret itself.
	for i, part := range parts {
		if len(part) != size || seen[part[size-1]] {
			return nil, false
		}
		at[i] = part[size-1]
		seen[at[i]] = true
	}
	secret = make([]byte, size-1)
	for i, part := range parts {
		weight := byte(1)
		for j := range parts {
			if i != j {
				weight = multiply(weight, multiply(at[j], inverse(at[i]^at[j])))
			}
		}
		for b := range secret {
			secret[b] ^= multiply(weight, part[b])
		}
	}
	return secret, true
}

// multiply multiplies in GF(2^8) with the polynomial of AES, in the same time for all
// numbers.
func multiply(a, b byte) (product byte) {
	for range 8 {
		product ^= -(b & 1) & a
		a = a<<1 ^ -(a>>7)&0x1b
		b >>= 1
	}
	return product
}

// inverse is a to the power of 254.
func inverse(a byte) byte {
	power := byte(1)
	for range 254 {
		power = multiply(power, a)
	}
	return power
}
