package templates

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"text/template"
	"time"
)

// seededRenderings is the number of renderings that are compared. Two show that something varies.
// In the third, maps have another order, and other lookups find an object.
const seededRenderings = 3

// seed makes the functions of one rendering that could have another result in the next rendering.
// Their results depend only on the number of the rendering and on their arguments, so the verdict
// is the same on every machine.
type seed struct {
	number int
	// request is a hash of the arguments of a lookup.
	request uint64
	// keys returns the keys of the data of an object that a lookup returns.
	keys func() []string
}

// certificate is the result of the functions for certificates. It has the same fields as that of
// sprig.
type certificate struct{ Cert, Key string }

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// text returns a text that differs between renderings in each character. Equal calls in one
// rendering have the same result, independent of earlier calls.
func (s *seed) text(length int, of string) string {
	const apart = 17
	random := rand.New(rand.NewPCG(s.request, 0)) //nolint:gosec // It has to be the same everywhere, and is not a secret.
	made := make([]byte, max(length, 0))
	for i := range made {
		made[i] = of[(random.IntN(len(of))+s.number*apart)%len(of)]
	}
	return string(made)
}

func (s *seed) encoded(length int) string {
	return base64.StdEncoding.EncodeToString([]byte(s.text(length, letters+digits)))
}

// now returns a time that differs between renderings in every unit.
func (s *seed) now() time.Time {
	return []time.Time{
		time.Date(2003, time.February, 4, 5, 6, 7, 8, s.zone()),
		time.Date(2031, time.November, 27, 18, 39, 48, 590_000_000, s.zone()),
		time.Date(2018, time.July, 16, 11, 23, 31, 77_000, s.zone()),
	}[s.number]
}

// zone returns the time zone that the rendering uses as the machine's.
func (s *seed) zone() *time.Location {
	const hour = 3600
	return []*time.Location{time.FixedZone("A", 0), time.FixedZone("B", 14*hour), time.FixedZone("C", -12*hour)}[s.number]
}

// replace replaces the functions whose results vary with those of this seed.
func (s *seed) replace(functions template.FuncMap) {
	maps.Copy(functions, s.texts())
	maps.Copy(functions, s.certificates())
	maps.Copy(functions, s.dates(functions))
	functions["keys"] = func(of ...map[string]any) []string {
		found := []string{}
		for _, one := range of {
			found = append(found, inOrder(s, slices.Sorted(maps.Keys(one)))...)
		}
		return found
	}
	functions["values"] = func(of map[string]any) []any {
		found := []any{}
		for _, key := range inOrder(s, slices.Sorted(maps.Keys(of))) {
			found = append(found, of[key])
		}
		return found
	}
	functions[lookupFunction] = s.lookup
}

// inOrder returns a list in the order of a rendering. Elements at the same index differ between the
// renderings, if all elements are different.
func inOrder[T any](s *seed, list []T) []T {
	switch {
	case len(list) < 2 || s.number == 0:
		return list
	case s.number == 1:
		return append(slices.Clone(list[1:]), list[0])
	}
	slices.Reverse(list)
	return list
}

func (s *seed) texts() template.FuncMap {
	const hashed = 53
	bcrypt := func() string { return "$2a$10$" + s.text(hashed, letters+digits) }
	return template.FuncMap{
		"randAlpha":    func(count int) string { return s.text(count, letters) },
		"randAlphaNum": func(count int) string { return s.text(count, letters+digits) },
		"randNumeric":  func(count int) string { return s.text(count, digits) },
		"randAscii":    func(count int) string { return s.text(count, letters+digits+"!#$%&()*+,-./:;<=>?@[]^_{|}~") },
		"randBytes":    func(count int) (string, error) { return s.encoded(count), nil },
		// All results change in the same direction, so no two calls exchange their results.
		"randInt": func(from, to int) (int, error) {
			if to <= from {
				return 0, fmt.Errorf("randInt: %d is not less than %d", from, to)
			}
			return []int{from, to - 1, from + (to-from)/2}[s.number], nil
		},
		"shuffle": func(text string) string { return string(inOrder(s, []rune(text))) },
		"uuidv4": func() string {
			const hex = "0123456789abcdef"
			// the parts of a UUID
			return s.text(8, hex) + "-" + s.text(4, hex) + "-4" + s.text(3, hex) + "-a" + s.text(3, hex) + "-" + s.text(12, hex)
		},
		"bcrypt": func(string) string { return bcrypt() },
		"htpasswd": func(user, _ string) string {
			if strings.Contains(user, ":") {
				return "invalid username: " + user
			}
			return user + ":" + bcrypt()
		},
		"encryptAES": func(_, text string) (string, error) { return s.encoded(len(text) + hashed), nil },
	}
}

// certificates returns functions whose results only look like keys and certificates: real ones take
// long, and cannot be made from a seed.
func (s *seed) certificates() template.FuncMap {
	const length = 600
	block := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(s.text(length, letters+digits))}))
	}
	pair := func(...any) (certificate, error) {
		return certificate{Cert: block("CERTIFICATE"), Key: block("RSA PRIVATE KEY")}, nil
	}
	withKey := func(arguments ...any) (certificate, error) {
		made := certificate{Cert: block("CERTIFICATE")}
		if len(arguments) > 0 {
			made.Key, _ = arguments[len(arguments)-1].(string)
		}
		return made, nil
	}
	return template.FuncMap{
		"genPrivateKey": func(kind string) string {
			kinds := map[string]string{
				"": "RSA PRIVATE KEY", "rsa": "RSA PRIVATE KEY",
				"dsa": "DSA PRIVATE KEY", "ecdsa": "EC PRIVATE KEY", "ed25519": "PRIVATE KEY",
			}
			if named, ok := kinds[kind]; ok {
				return block(named)
			}
			return "Unknown type " + kind
		},
		"genCA": pair, "genSelfSignedCert": pair, "genSignedCert": pair,
		"genCAWithKey": withKey, "genSelfSignedCertWithKey": withKey, "genSignedCertWithKey": withKey,
		"buildCustomCert": func(cert, key string) (certificate, error) {
			decodedCert, err := base64.StdEncoding.DecodeString(cert)
			if err != nil {
				return certificate{}, fmt.Errorf("decoding a certificate: %w", err)
			}
			decodedKey, err := base64.StdEncoding.DecodeString(key)
			if err != nil {
				return certificate{}, fmt.Errorf("decoding a key: %w", err)
			}
			return certificate{Cert: string(decodedCert), Key: string(decodedKey)}, nil
		},
	}
}

// dates returns the functions of sprig that read the clock or the time zone of the machine.
func (s *seed) dates(functions template.FuncMap) template.FuncMap {
	in := func(layout string, date any, zone string) string {
		location, err := time.LoadLocation(zone)
		switch {
		case zone == "Local":
			location = s.zone()
		case err != nil:
			location = time.UTC
		}
		return s.timeOf(date).In(location).Format(layout)
	}
	toDate := func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, s.zone()) }
	made := template.FuncMap{
		"now":        s.now,
		"date":       func(layout string, date any) string { return in(layout, date, "Local") },
		"dateInZone": in, "date_in_zone": in,
		"htmlDate":       func(date any) string { return in(time.DateOnly, date, "Local") },
		"htmlDateInZone": func(date any, zone string) string { return in(time.DateOnly, date, zone) },
		"ago":            func(date any) string { return s.now().Sub(s.timeOf(date)).Round(time.Second).String() },
		"toDate": func(layout, text string) time.Time {
			parsed, _ := toDate(layout, text)
			return parsed
		},
		"mustToDate": toDate,
	}
	if round, ok := functions["durationRound"].(func(any) string); ok {
		made["durationRound"] = func(duration any) string {
			if from, isTime := duration.(time.Time); isTime {
				duration = int64(s.now().Sub(from))
			}
			return round(duration)
		}
	}
	return made
}

// timeOf reads a date. What is no date is the current time, as in sprig.
func (s *seed) timeOf(date any) time.Time {
	if t, ok := timeOf(date); ok {
		return t
	}
	return s.now()
}

// lookup finds nothing in the first rendering, an object in the second one, and in the third one an
// object for half of the requests. Equal requests have the same result.
func (s *seed) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	request := fnv64(apiVersion, kind, namespace, name)
	if s.number == 0 || s.number > 1 && request%2 == 0 {
		return map[string]any{}, nil
	}
	random := &seed{number: s.number, request: request, keys: s.keys}
	if name != "" {
		return random.object(apiVersion, kind, namespace, name), nil
	}
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind + "List", "metadata": map[string]any{"resourceVersion": random.text(6, digits)},
		"items": []any{random.object(apiVersion, kind, namespace, "found-"+strings.ToLower(random.text(6, letters)))},
	}, nil
}

func (s *seed) object(apiVersion, kind, namespace, name string) map[string]any {
	const length = 12
	data := map[string]any{}
	labels := map[string]any{}
	annotations := map[string]any{}
	for _, key := range s.keys() {
		data[key] = s.encoded(length)
		labels[key] = s.text(length, letters)
		annotations[key] = s.text(length, letters)
	}
	metadata := map[string]any{
		"name": name, "namespace": namespace, "uid": s.text(length, digits), "resourceVersion": s.text(length, digits),
		"labels": labels, "annotations": annotations, "creationTimestamp": "2020-02-02T02:02:02Z",
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "data": data, "type": "Opaque"}
}

func fnv64(parts ...string) uint64 {
	sum := fnv.New64a()
	for _, part := range parts {
		_, _ = sum.Write([]byte(part + "\x00"))
	}
	return sum.Sum64()
}
