package browsertest_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

// TestPictures writes the pictures of the README and of the guide into the folder that FLEET_PICTURES
// names, if set.
func TestPictures(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("FLEET_PICTURES")
	if folder == "" {
		t.Skip("FLEET_PICTURES names no folder")
	}
	for _, test := range []struct {
		name          string
		of            planreport.Target
		width, height int64
		media         string
		// part is the element that the picture shows, "" for what the window shows.
		part string
	}{
		{name: "plan-report", of: takingOver(removingNothing(fleetOf(9, 6))), width: 1240, height: 1320},
		{name: "plan-report-table", of: takingOver(fleetOf(50, 20)), width: 1240, height: 900, part: "#table"},
		{name: "plan-report-narrow", of: takingOver(removingNothing(fleetOf(3, 5))), width: 390, height: 1100},
		// The size of a page of A4 between its margins.
		{name: "plan-report-print", of: takingOver(removingNothing(fleetOf(3, 5))), width: 718, height: 1046, media: "print"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := show(t, written(t, "plan.html", test.of), test.width, test.height)
			b.run(t, emulation.SetEmulatedMedia().WithMedia(test.media))
			var picture []byte
			if test.part == "" {
				b.run(t, chromedp.CaptureScreenshot(&picture))
			} else {
				b.run(t, chromedp.Screenshot(test.part, &picture))
			}
			if err := os.WriteFile(filepath.Join(folder, test.name+".png"), withPalette(t, picture), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// withPalette returns a picture with at most 256 colors, which makes its file much smaller. Of colors that
// are almost equal, only the most frequent one stays.
func withPalette(t *testing.T, content []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[color.Color]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			numbers[color.RGBAModel.Convert(full.At(x, y))]++
		}
	}
	colors := color.Palette{}
	similar := map[[3]uint32]bool{}
	for _, c := range slices.SortedFunc(maps.Keys(numbers), func(a, b color.Color) int { return cmp.Compare(numbers[b], numbers[a]) }) {
		const bits = 5 // of 16
		r, g, b, _ := c.RGBA()
		if of := [3]uint32{r >> (16 - bits), g >> (16 - bits), b >> (16 - bits)}; !similar[of] && len(colors) < 256 {
			similar[of] = true
			colors = append(colors, c)
		}
	}
	small := image.NewPaletted(full.Bounds(), colors)
	draw.Draw(small, small.Bounds(), full, full.Bounds().Min, draw.Src)
	var written bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&written, small); err != nil {
		t.Fatal(err)
	}
	return written.Bytes()
}
