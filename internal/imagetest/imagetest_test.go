package imagetest_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/rooflab/rooflab/internal/imagetest"
)

func grey(w, h int, v uint8) *image.Gray {
	g := image.NewGray(image.Rect(0, 0, w, h))
	for i := range g.Pix {
		g.Pix[i] = v
	}
	return g
}

func TestDifferenceCountsWhatIsVisible(t *testing.T) {
	a, b := grey(10, 10, 100), grey(10, 10, 100)
	b.SetGray(3, 4, color.Gray{Y: 100 + imagetest.Visible})     // seen
	b.SetGray(5, 5, color.Gray{Y: 100 + imagetest.Visible - 1}) // not seen
	b.SetGray(0, 9, color.Gray{Y: 0})                           // seen
	share, where, err := imagetest.Difference(a, b)
	if err != nil || share != 0.02 {
		t.Fatalf("%g, %v; want 2 of 100 pixels", share, err)
	}
	if r, _, _, _ := where.At(3, 4).RGBA(); r != 0 {
		t.Error("a pixel that differs is not black")
	}
	if r, _, _, _ := where.At(5, 5).RGBA(); r != 0xffff {
		t.Error("a pixel that does not differ is not white")
	}
	// A part of a larger picture is compared by its own corner.
	c := grey(30, 30, 0).SubImage(image.Rect(10, 10, 20, 20))
	if share, _, err = imagetest.Difference(grey(10, 10, 0), c); err != nil || share != 0 {
		t.Errorf("%g, %v", share, err)
	}
}

func TestOtherSizesAreAnError(t *testing.T) {
	if _, _, err := imagetest.Difference(grey(10, 10, 0), grey(10, 11, 0)); err == nil {
		t.Error("no error")
	}
}
