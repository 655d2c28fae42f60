package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

// Subject is what a run says of the command that it measures and of the
// machine that it ran on: everything that decides how fast it is, as far as
// it can be known beforehand.
type Subject struct {
	Machine    datasets.Machine
	Command    string
	Program    string // its base name
	EnvHash    string // SHA-256 over Env
	InputHash  string // SHA-256 over the program and the inputs; "" where there is no command
	Env        []string
	Attributes []host.Fact
}

// Describe looks at a job before it runs. inputs are files that the command
// reads, whose content counts. It returns a *NotFoundError where there is no
// such program.
func Describe(ctx context.Context, job collectors.Job, inputs ...string) (*Subject, error) {
	s := &Subject{Machine: host.Machine(), Command: collectors.CommandLine(job.Command), Env: environment(os.Environ())}
	s.EnvHash = hexSum(strings.Join(s.Env, "\x00"))
	dir, err := filepath.Abs(job.Dir)
	if err != nil {
		return nil, err
	}
	s.add("cwd", dir)
	for _, kv := range s.Env {
		name, value, _ := strings.Cut(kv, "=")
		s.add("env."+name, value)
	}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); scheduled[name] {
			s.add("env."+name, value)
		}
	}
	var files []string
	if len(job.Command) > 0 {
		program, err := find(job.Command[0], job.Dir)
		if err != nil {
			return nil, err
		}
		files = append(files, program)
		s.Program = filepath.Base(job.Command[0])
		s.add("executable", program)
	}
	files = append(files, inputs...)
	all := sha256.New()
	for i, f := range files {
		path := f
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		sum, err := fileSum(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("reading what the command reads: %w", err)
		}
		fmt.Fprintf(all, "%s\n", sum)
		if i == 0 && len(job.Command) > 0 {
			s.add("executable.sha256", sum)
			continue
		}
		s.add("input."+f+".sha256", sum)
	}
	if len(files) > 0 {
		s.InputHash = hex.EncodeToString(all.Sum(nil))
	}
	s.Attributes = append(s.Attributes, git(ctx, dir)...)
	s.Attributes = append(s.Attributes, host.Here.State()...)
	return s, nil
}

func (s *Subject) add(name, value string) {
	s.Attributes = append(s.Attributes, host.Fact{Name: name, Value: value})
}

// Run begins a run of the subject: id 1, on machine 1, status ok.
func (s *Subject) Run(tool, version, format string) datasets.Run {
	return datasets.Run{ID: 1, Machine: s.Machine.ID, Tool: tool, ToolVersion: version, Format: format,
		Command: s.Command, EnvHash: s.EnvHash, InputHash: s.InputHash, Started: datasets.Some(time.Now().UTC()), Status: datasets.RunOK}
}

// Complete gives a run that a tool's file made what only the collector knows.
func (s *Subject) Complete(run *datasets.Run, started time.Time) {
	run.Command, run.EnvHash, run.InputHash = s.Command, s.EnvHash, s.InputHash
	run.Started = datasets.Some(started.UTC())
}

// Put writes the machine, the run and what is known of the subject.
func (s *Subject) Put(out datasets.Sink, run datasets.Run) error {
	if err := out.Put(&s.Machine); err != nil {
		return err
	}
	if err := out.Put(&run); err != nil {
		return err
	}
	return s.PutAttributes(out, run.ID)
}

// PutAttributes writes what is known of the subject as attributes of a run.
func (s *Subject) PutAttributes(out datasets.Sink, run int64) error {
	for _, a := range s.Attributes {
		if err := out.Put(&datasets.Attribute{Run: run, Name: a.Name, Value: a.Value}); err != nil {
			return err
		}
	}
	return nil
}

// find returns the absolute path of the program that a command names, as it is
// found from dir.
func find(program, dir string) (string, error) {
	path := program
	if strings.Contains(program, "/") {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(abs, path)
		}
	}
	found, err := exec.LookPath(path)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return "", &NotFoundError{program}
		}
		return "", fmt.Errorf("%s cannot be run: %w", program, err)
	}
	return filepath.Abs(found)
}

func fileSum(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file: name the files whose content counts", path)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrPermission) {
		return "unreadable", nil // a program that may be run and not be read
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// shaping are the beginnings of the names of variables that change how fast a
// program runs. PATH and HOME do not, and differ between users.
var shaping = []string{
	"OMP_", "GOMP_", "KMP_", "LIBOMP", "MKL_", "OPENBLAS_", "BLIS_", "GOTO_", "NUMEXPR_", "VECLIB_", "TBB_",
	"CUDA_", "NVIDIA_", "NCCL_", "CUBLAS", "CUDNN_", "HIP_", "ROCR_", "HSA_", "GPU_", "AMD_", "RCCL_", "MIOPEN_", "SYCL_", "ONEAPI_", "ZE_",
	"OMPI_MCA_", "I_MPI_", "MPICH_", "UCX_", "FI_", "GASNET_",
	"XLA_", "TF_", "JAX_", "PYTORCH_", "TORCH_", "POCL_", "OCL_", "KOKKOS_",
	"MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_BIND_NOW", "PYTHONHASHSEED", "JAVA_OPTS", "JULIA_NUM_THREADS",
	"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOAMD64", "RAYON_NUM_THREADS", "LIKWID_", "NUMA_",
}

// scheduled are variables of batch systems that say where a run was, which is
// worth knowing and differs each time.
var scheduled = map[string]bool{
	"SLURM_JOB_ID": true, "SLURM_JOB_NAME": true, "SLURM_JOB_PARTITION": true, "SLURM_JOB_NODELIST": true, "SLURM_NTASKS": true,
	"SLURM_CPUS_PER_TASK": true, "SLURM_ARRAY_TASK_ID": true, "SLURM_PROCID": true, "SLURM_CLUSTER_NAME": true,
	"PBS_JOBID": true, "LSB_JOBID": true, "JOB_ID": true, "FLUX_JOB_ID": true,
}

// environment selects the variables that change how fast programs run, sorted.
func environment(all []string) []string {
	var kept []string
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		for _, p := range shaping {
			if strings.HasPrefix(name, p) && !secret(name) {
				kept = append(kept, kv)
				break
			}
		}
	}
	sort.Strings(kept)
	return kept
}

func secret(name string) bool {
	for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// git says which commit the command's folder is at, nothing where it is not
// under git.
func git(ctx context.Context, dir string) []host.Fact {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // of a slow file system
	defer cancel()
	ask := func(args ...string) (string, bool) {
		c := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		c.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
		out, err := c.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	commit, ok := ask("rev-parse", "HEAD")
	if !ok {
		return nil
	}
	facts := []host.Fact{{Name: "git.commit", Value: commit}}
	if branch, ok := ask("rev-parse", "--abbrev-ref", "HEAD"); ok {
		facts = append(facts, host.Fact{Name: "git.branch", Value: branch})
	}
	if changed, ok := ask("status", "--porcelain", "--untracked-files=no"); ok {
		facts = append(facts, host.Fact{Name: "git.changed", Value: fmt.Sprint(changed != "")})
	}
	return facts
}
