package opencl

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// runner builds programs, one after the other, and launches their kernels, in
// the child.
type runner struct {
	lib     *library
	device  handle
	facts   deviceFacts
	ctx     handle
	queue   handle
	prog    handle
	out     *json.Encoder
	reinit  bool
	settle  float64
	began   time.Time
	kernels map[string]handle
	args    map[handle]int // how many arguments a kernel takes
}

// newRunner chooses the device of a request.
func newRunner(req request, out *json.Encoder) (*runner, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	r := &runner{lib: l, out: out}
	if r.device, r.facts, err = l.choose(req.Platform, req.Device); err != nil {
		return nil, err
	}
	var code int32
	if r.ctx = l.CreateContext(nil, 1, &r.device, 0, 0, &code); code != 0 {
		return nil, failed("clCreateContext", code)
	}
	if r.queue = l.CreateCommandQueue(r.ctx, r.device, queueProfiling, &code); code != 0 {
		return nil, failed("clCreateCommandQueue", code)
	}
	return r, nil
}

func (r *runner) run(req request) error {
	p := req.Program
	b := r.build(p)
	defer func() {
		for _, k := range r.kernels {
			r.lib.ReleaseKernel(k)
		}
		r.kernels = nil
		if r.prog != 0 {
			r.lib.ReleaseProgram(r.prog)
		}
	}()
	if err := r.out.Encode(message{Build: &b}); err != nil || b.Error != "" {
		return err
	}
	r.kernels, r.args, r.reinit, r.settle = map[string]handle{}, map[handle]int{}, req.Reinit, req.Settle
	r.began = time.Now()
	for i := req.From; i < len(p.Launches); i++ {
		if err := r.out.Encode(message{Begin: &i}); err != nil {
			return err
		}
		if err := r.launch(p.Launches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) build(p program) buildResult {
	l := r.lib
	src := clString(p.Source)
	var pin runtime.Pinner
	pin.Pin(src)
	defer pin.Unpin()
	var code int32
	r.prog = l.CreateProgramWithSource(r.ctx, 1, unsafe.Pointer(&src), nil, &code)
	if code != 0 {
		return buildResult{Error: failed("clCreateProgramWithSource", code).Error()}
	}
	// Names and types of arguments are kept only where they are asked for.
	code = l.BuildProgram(r.prog, 1, &r.device, clString("-cl-kernel-arg-info "+p.Options), 0, 0)
	log, _ := info(func(n uintptr, v unsafe.Pointer, ret *uintptr) int32 {
		return l.GetProgramBuildInfo(r.prog, r.device, programBuildLog, n, v, ret)
	})
	b := buildResult{Log: text(log)}
	if code != 0 {
		b.Error = failed("clBuildProgram", code).Error()
	}
	return b
}

// kernel makes a kernel once and says what the driver knows of it.
func (r *runner) kernel(name string) (handle, error) {
	if k, ok := r.kernels[name]; ok {
		return k, nil
	}
	l := r.lib
	var code int32
	k := l.CreateKernel(r.prog, clString(name), &code)
	if code != 0 {
		return 0, fmt.Errorf("kernel %s: %w", name, failed("clCreateKernel", code))
	}
	r.kernels[name] = k
	f := kernelFacts{Name: name, Features: map[string]float64{}}
	for feature, q := range map[string]uint32{"work_group_size_max": 0x11B0, "local_mem_bytes": 0x11B2, "preferred_work_group_size_multiple": 0x11B3, "private_mem_bytes": 0x11B4} {
		if b, ok := info(func(n uintptr, v unsafe.Pointer, ret *uintptr) int32 {
			return l.GetKernelWorkGroupInfo(k, r.device, q, n, v, ret)
		}); ok {
			f.Features[feature] = float64(number(b))
		}
	}
	if b, ok := info(func(n uintptr, v unsafe.Pointer, ret *uintptr) int32 {
		return l.GetKernelWorkGroupInfo(k, r.device, 0x11B1, n, v, ret)
	}); ok && len(b) == 24 && number(b[:8]) != 0 {
		f.Facts = append(f.Facts, fact{"reqd_work_group_size", fmt.Sprintf("%d,%d,%d", number(b[:8]), number(b[8:16]), number(b[16:]))})
	}
	if b, ok := info(func(n uintptr, v unsafe.Pointer, ret *uintptr) int32 { return l.GetKernelInfo(k, 0x1191, n, v, ret) }); ok {
		f.Features["args"] = float64(number(b))
		r.args[k] = int(number(b))
		for i := range min(uint32(number(b)), 256) {
			f.Facts = append(f.Facts, r.argFacts(k, i)...)
		}
	}
	return k, r.out.Encode(message{Kernel: &f})
}

func (r *runner) argFacts(k handle, i uint32) []fact {
	ask := func(q uint32) ([]byte, bool) {
		return info(func(n uintptr, v unsafe.Pointer, ret *uintptr) int32 {
			return r.lib.GetKernelArgInfo(k, i, q, n, v, ret)
		})
	}
	var fs []fact
	if b, ok := ask(0x119A); ok {
		fs = append(fs, fact{fmt.Sprintf("arg.%d.name", i), text(b)})
	}
	if b, ok := ask(0x1198); ok {
		fs = append(fs, fact{fmt.Sprintf("arg.%d.type", i), text(b)})
	}
	if b, ok := ask(0x1196); ok {
		space := map[uint64]string{0x119B: "global", 0x119C: "local", 0x119D: "constant", 0x119E: "private"}[number(b)]
		if space != "" {
			fs = append(fs, fact{fmt.Sprintf("arg.%d.address", i), space})
		}
	}
	return fs
}

// launch runs one configuration; what fails in it is said, the error is that
// of the pipe.
func (r *runner) launch(c launch) error {
	k, err := r.kernel(c.Kernel)
	if err != nil {
		return r.out.Encode(message{Launch: &launchResult{Error: err.Error()}})
	}
	buffers := map[int]*buffer{}
	defer func() {
		for _, b := range buffers {
			r.lib.ReleaseMemObject(b.mem)
		}
	}()
	res, err := r.prepare(k, c, buffers)
	if err != nil {
		res.Error = err.Error()
	}
	if err := r.out.Encode(message{Launch: &res}); err != nil || res.Error != "" {
		return err
	}
	var times []float64
	more := func() bool {
		return len(times) < c.Repeats || r.settle > 0 && len(times) < 5*c.Repeats && !settled(times, r.settle)
	}
	for i := min(1, c.Warmup); i < c.Warmup || more(); i++ { // one was in prepare
		if r.reinit {
			if err := r.write(buffers); err != nil {
				return err
			}
		}
		t, err := r.enqueue(k, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Kernel, err)
		}
		if i < c.Warmup {
			continue
		}
		if err := r.out.Encode(message{Timing: &t}); err != nil {
			return err
		}
		times = append(times, t.ns())
	}
	return nil
}

// settled tells that the median of times is known to a fraction: that its
// standard error, relative to it, is at most that. The deviation is 1.4826
// times the median absolute one (which of a normal distribution is the standard
// deviation), and a median's error is sqrt(pi/2) of a mean's.
func settled(times []float64, fraction float64) bool {
	if len(times) < 3 {
		return false
	}
	middle := func(xs []float64) float64 {
		slices.Sort(xs)
		return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
	}
	m := middle(slices.Clone(times))
	away := make([]float64, len(times))
	for i, t := range times {
		away[i] = math.Abs(t - m)
	}
	return 1.4826*middle(away)*math.Sqrt(math.Pi/2/float64(len(times))) <= fraction*m
}

// buffer is an argument in the device's memory.
type buffer struct {
	arg  argument
	mem  handle
	host []byte // its first content
}

// prepare sets the arguments, runs the kernel once on fresh inputs and looks
// at the outputs.
func (r *runner) prepare(k handle, c launch, buffers map[int]*buffer) (launchResult, error) {
	var res launchResult
	l := r.lib
	// A kernel remembers the arguments of the launch before.
	if n, ok := r.args[k]; ok && n != len(c.Args) {
		return res, fmt.Errorf("kernel %s takes %d arguments, %d are given", c.Kernel, n, len(c.Args))
	}
	for i, spec := range c.Args {
		a, err := parseArgument(spec)
		if err != nil {
			return res, err
		}
		var code int32
		switch a.Kind {
		case "local":
			code = l.SetKernelArg(k, uint32(i), uintptr(a.Count), nil)
		case "buf":
			b := &buffer{arg: a}
			size := a.Count * a.Type.bytes()
			flags := map[string]uint64{"r": memReadOnly, "w": memWriteOnly, "rw": memReadWrite}[a.Access]
			if b.mem = l.CreateBuffer(r.ctx, flags, uintptr(size), nil, &code); code != 0 {
				return res, fmt.Errorf("argument %d (%s), %d bytes: %w", i, spec, size, failed("clCreateBuffer", code))
			}
			buffers[i] = b
			res.Bytes += size
			b.host = make([]byte, size)
			if err := a.fill(b.host, true); err != nil {
				return res, fmt.Errorf("argument %d (%s): %w", i, spec, err)
			}
			code = l.SetKernelArg(k, uint32(i), unsafe.Sizeof(b.mem), unsafe.Pointer(&b.mem))
		default:
			code = l.SetKernelArg(k, uint32(i), uintptr(len(a.Value)), unsafe.Pointer(&a.Value[0]))
		}
		if code != 0 {
			return res, fmt.Errorf("argument %d (%s): %w", i, spec, failed("clSetKernelArg", code))
		}
	}
	if err := r.write(buffers); err != nil {
		return res, err
	}
	if _, err := r.enqueue(k, c); err != nil {
		return res, err
	}
	for _, i := range slices.Sorted(maps.Keys(buffers)) {
		b := buffers[i]
		if b.arg.Access == "r" {
			continue
		}
		got := make([]byte, len(b.host))
		if code := l.EnqueueReadBuffer(r.queue, b.mem, 1, 0, uintptr(len(got)), unsafe.Pointer(&got[0]), 0, nil, nil); code != 0 {
			return res, failed("clEnqueueReadBuffer", code)
		}
		name := b.arg.Name
		if name == "" {
			name = strconv.Itoa(i)
		}
		o := output{name, inspect(got, b.arg.Type, c.Expect[b.arg.Name])}
		res.Outputs = append(res.Outputs, o)
		if o.Fault != "" && res.Error == "" {
			res.Error = fmt.Sprintf("output %s is wrong: %s", name, o.Fault)
		}
	}
	return res, nil
}

func (r *runner) write(buffers map[int]*buffer) error {
	for _, b := range buffers {
		if code := r.lib.EnqueueWriteBuffer(r.queue, b.mem, 1, 0, uintptr(len(b.host)), unsafe.Pointer(&b.host[0]), 0, nil, nil); code != 0 {
			return failed("clEnqueueWriteBuffer", code)
		}
	}
	return nil
}

// enqueue runs the kernel once, and waits.
func (r *runner) enqueue(k handle, c launch) (timing, error) {
	l := r.lib
	global, local := make([]uintptr, 3), make([]uintptr, 3)
	for i, n := range c.Global {
		global[i] = uintptr(n)
	}
	var lp *uintptr
	for i, n := range c.Local {
		local[i] = uintptr(n)
		lp = &local[0]
	}
	var ev handle
	at := time.Now()
	t := timing{AtNs: at.Sub(r.began).Nanoseconds()}
	if code := l.EnqueueNDRangeKernel(r.queue, k, uint32(len(c.Global)), nil, &global[0], lp, 0, nil, &ev); code != 0 {
		return t, failed("clEnqueueNDRangeKernel", code)
	}
	defer l.ReleaseEvent(ev)
	if code := l.WaitForEvents(1, &ev); code != 0 {
		return t, failed("clWaitForEvents", code)
	}
	t.HostNs = time.Since(at).Nanoseconds()
	var status int32
	if code := l.GetEventInfo(ev, 0x11D3, 4, unsafe.Pointer(&status), nil); code == 0 && status < 0 {
		return t, failed("running the kernel", status)
	}
	t.Profiled = true
	for i, p := range []*uint64{&t.Queued, &t.Submit, &t.Start, &t.End} {
		if l.GetEventProfilingInfo(ev, 0x1280+uint32(i), 8, unsafe.Pointer(p), nil) != 0 {
			t.Profiled = false
		}
	}
	t.Profiled = t.Profiled && t.End >= t.Start && t.Start >= t.Submit && t.Submit >= t.Queued && t.End != 0
	return t, nil
}
