package target_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/agents/target"
)

// A description is read with its sources; the lines that may be changed are
// those of its hot region.
func Example() {
	dir, err := os.MkdirTemp("", "target")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "sum.c"), []byte("#define N 1024\nfloat sum(const float *a)\n{\n\treturn a[0];\n}\n"), 0o644))
	path := filepath.Join(dir, "sum.toml")
	check(os.WriteFile(path, []byte(`
name = "sum"
language = "c"
sources.editable = ["sum.c"]
build.commands = [["cc", "-O2", "-o", "sum", "sum.c"]]
build.products = ["sum"]
run.command = ["./sum", "{seed}"]
output = [{ stdout = true }]
[[hot]]
file = "sum.c"
function = "sum"
`), 0o644))
	t, err := target.Load(path)
	check(err)
	fmt.Println(t.Name, t.Sources()[0].Path, t.Sources()[0].Editable)
	command, err := t.Run.Command.Expand(map[target.Placeholder]string{target.Seed: "42"})
	check(err)
	fmt.Println(command)
	// Output:
	// sum sum.c [2-5]
	// ./sum 42
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
