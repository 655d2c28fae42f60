// Package imagetest compares pictures that tests draw with golden ones: in
// flows a picture and the path of a PNG, out flows a test failure when they
// differ by more than a tolerance. go test -update-images writes the golden
// pictures anew; look at them before they are committed.
package imagetest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update-images", false, "write golden pictures anew instead of comparing with them")

// Visible is the difference of a colour channel, of 255, that an eye sees at
// the edge of a line: below it two renderings of one shape count as the same.
const Visible = 48

// PNG compares an encoded picture with the golden one at path; see Golden.
func PNG(t testing.TB, got []byte, path string, share float64) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		t.Fatalf("decoding the picture to compare with %s: %v", path, err)
	}
	Golden(t, img, path, share)
}

// Golden fails the test when the picture has another size than the golden PNG
// at path, or when more than a share (0 to 1) of its pixels differ from it by
// Visible or more in a channel. The picture, and where it differs, are then
// left in the test's artifacts (go test -artifacts).
func Golden(t testing.TB, got image.Image, path string, share float64) {
	t.Helper()
	if *update {
		if err := write(path, got); err != nil {
			t.Fatalf("writing the golden picture: %v", err)
		}
		return
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("opening the golden picture: %v; go test -update-images makes it", err)
	}
	defer f.Close()
	want, err := png.Decode(f)
	if err != nil {
		t.Fatalf("decoding the golden picture %s: %v", path, err)
	}
	part, where, err := Difference(got, want)
	if err == nil && part <= share {
		return
	}
	dir, base := t.ArtifactDir(), filepath.Base(path)
	_ = write(filepath.Join(dir, base), got)
	if err != nil {
		t.Errorf("%s: %v; the picture drawn is in %s", path, err, dir)
		return
	}
	_ = write(filepath.Join(dir, "difference-"+base), where)
	t.Errorf("%s: %.3f %% of the pixels differ visibly, %.3f %% may; both are in %s (go test -artifacts keeps them)", path, 100*part, 100*share, dir)
}

// Difference is the share of pixels (0 to 1) that differ visibly, and a
// picture of them, black on white. Pictures of different sizes are an error.
func Difference(a, b image.Image) (share float64, where image.Image, err error) {
	ra, rb := a.Bounds(), b.Bounds()
	if ra.Size() != rb.Size() {
		return 1, nil, fmt.Errorf("the picture is %v pixels large, the golden one %v", ra.Size(), rb.Size())
	}
	out, n := image.NewGray(image.Rectangle{Max: ra.Size()}), 0
	for y := range ra.Dy() {
		for x := range ra.Dx() {
			out.SetGray(x, y, color.Gray{Y: 255})
			if differ(a.At(ra.Min.X+x, ra.Min.Y+y), b.At(rb.Min.X+x, rb.Min.Y+y)) {
				out.SetGray(x, y, color.Gray{})
				n++
			}
		}
	}
	if ra.Empty() {
		return 0, out, nil
	}
	return float64(n) / float64(ra.Dx()*ra.Dy()), out, nil
}

func differ(a, b color.Color) bool {
	r, g, bl, al := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	for _, c := range [][2]uint32{{r, r2}, {g, g2}, {bl, b2}, {al, a2}} {
		if d := int(c[0]>>8) - int(c[1]>>8); d >= Visible || d <= -Visible {
			return true
		}
	}
	return false
}

func write(path string, img image.Image) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
