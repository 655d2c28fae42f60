package pjrt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Release is the release of github.com/gomlx/pjrt-cpu-binaries that go-xla
// 0.4.1 was tested with (its DefaultCPUVersion), and installs by itself.
const Release = "v0.114.0"

const releases = "gomlx/pjrt-cpu-binaries"

// asset is a file of a release, as GitHub's API describes it.
type asset struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Digest  string `json:"digest"` // "sha256:...", null for old files
	Address string `json:"browser_download_url"`
}

// InstallRelease puts the CPU plugin of a release of GoMLX's into dir and returns
// its path. Its checksum is not known to rooflab: digest is the one that the user
// gives, or else the one that GitHub keeps of the file is taken, which finds
// damage, but not that the release was exchanged; it is said so. Without either
// nothing is installed.
func InstallRelease(ctx context.Context, tag, digest, dir string, opt Options) (string, error) {
	s := opt.source()
	target := filepath.Join(dir, "pjrt_c_api_cpu_plugin"+libExt())
	a, err := s.asset(ctx, opt.GitHub, tag)
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin from %s, release %s: %w: without GitHub `rooflab xla install` takes wheels from a package index", releases, tag, err)
	}
	recorded, _ := strings.CutPrefix(a.Digest, "sha256:")
	digest = strings.ToLower(digest)
	switch {
	case digest == "" && len(recorded) != 64:
		return "", fmt.Errorf("installing an XLA plugin: GitHub has no checksum of %s of %s %s, and what cannot be checked is not installed: "+
			"give the one that you trust as --sha256", a.Name, releases, tag)
	case digest == "":
		digest = recorded
		s.say("%s has sha256 %s by GitHub's own record: that finds damage, not a release that was exchanged; "+
			"give --sha256 to pin one that you trust", a.Name, digest)
	case len(recorded) == 64 && digest != recorded:
		return "", fmt.Errorf("installing an XLA plugin: GitHub records sha256 %s for %s of release %s, --sha256 is %s: nothing was downloaded", recorded, a.Name, tag, digest)
	}
	err = into(dir, func(work string) error {
		if err := os.MkdirAll(filepath.Join(dir, downloads), 0o755); err != nil {
			return err
		}
		archive := filepath.Join(dir, downloads, tag+"_"+a.Name)
		s.say("downloading %s, %s", a.Address, megabytes(a.Size))
		if err := s.fetch(ctx, a.Address, archive, digest, a.Size); err != nil {
			return err
		}
		fresh := filepath.Join(work, filepath.Base(target))
		if err := pluginOf(archive, fresh); err != nil {
			return err
		}
		if opt.Verify != nil {
			s.say("trying it")
			if err := opt.Verify(ctx, fresh); err != nil {
				return fmt.Errorf("it was downloaded but does not work here: %w", err)
			}
		}
		return os.Rename(fresh, target)
	})
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	s.say("installed %s (%s %s, sha256 of the archive %s)", target, releases, tag, digest)
	return target, nil
}

// asset asks GitHub for the file of a release that is for this platform.
func (s source) asset(ctx context.Context, api, tag string) (asset, error) {
	if api == "" {
		api = "https://api.github.com"
	}
	address := api + "/repos/" + releases + "/releases/tags/" + tag
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return asset{}, err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	resp, err := s.client.Do(req)
	if err != nil {
		return asset{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return asset{}, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	var r struct {
		Assets []asset `json:"assets"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&r); err != nil {
		return asset{}, fmt.Errorf("reading %s: %w", address, err)
	}
	want := "pjrt_cpu_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	var names []string
	for _, a := range r.Assets {
		if a.Name == want {
			if a.Size <= 0 || a.Address == "" {
				return asset{}, errors.New("the release describes " + want + " without size or address")
			}
			return a, nil
		}
		names = append(names, a.Name)
	}
	return asset{}, fmt.Errorf("the release has no %s; it has: %s", want, strings.Join(names, ", "))
}
