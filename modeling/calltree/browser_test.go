package calltree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/modeling/calltree"
)

// clicks is what a reader does: zoom into solve, then search for "do".
const clicks = `<script>addEventListener('load', function () {
  var frames = Array.from(document.querySelectorAll('g.f')), about = [];
  function name(g) { return g.querySelector('title').textContent.split('\n')[0]; }
  frames.find(function (g) { return name(g) === 'solve'; }).querySelector('rect').dispatchEvent(new MouseEvent('click', {bubbles: true}));
  var field = document.querySelector('input.rl-search');
  field.value = '^do';
  field.dispatchEvent(new Event('input'));
  frames.forEach(function (g) {
    var r = g.querySelector('rect'), t = g.querySelector('text');
    about.push(name(g) + ' ' + (g.style.display || 'shown') + ' ' + Math.round(r.getAttribute('x')) + '+' + Math.round(r.getAttribute('width')) + ' ' + g.classList + ' ' + (t ? t.textContent : ''));
  });
  about.push(document.querySelector('.rl-found').textContent);
  document.body.innerHTML = '<pre>' + about.join('\n') + '</pre>';
});</script>`

func TestAClickZoomsAndAFieldSearches(t *testing.T) {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Fatal("this test looks at a page in Chromium: on Debian or Ubuntu, apt-get install chromium")
	}
	// 10 s on 1000 pixels: main 8 (solve 6 (dot 3, axpy 3), write 2), done 2.
	tr := tree(t, node("main", 0, node("solve", 0, node("dot", 3), node("axpy", 3)), node("write", 2)), node("done", 2))
	page := filepath.Join(t.TempDir(), "page.html")
	html := strings.Replace(calltree.Flame(tr, calltree.FlameOptions{Width: 1000}).Page(), "</body>", clicks+"</body>", 1)
	if err := os.WriteFile(page, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("looking at the page: %v\n%s", err, &said)
	}
	// done stands before main; what is not in solve is gone, what calls it is as
	// wide as the picture. done and dot begin with "do": 200 and 300 of 1000.
	for _, want := range []string{"done none", "main shown 0+1000 f up dim main", "solve shown 0+1000 f dim solve", "axpy shown 0+500 f dim axpy", "dot shown 500+500 f hit dot", "write none", "2 frames, 50.0 % of the width"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the page lacks %q:\n%s", want, out)
		}
	}
}
