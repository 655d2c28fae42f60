// Package sensors is what the program rooflab-nvml and the collector nvml say
// to one another: one JSON value a line on the program's standard output, the
// first a Hello, all others a Reading, the last one with End. A program that
// ends without it was ended by something else.
//
// The other way go two words, a line each: "start" and "stop"; the end of the
// program's input is a "stop" too.
package sensors

// Words of the collector.
const (
	Start = "start"
	Stop  = "stop"
)

// Hello says what there is, or what is missing.
type Hello struct {
	Missing *Missing `json:"missing,omitempty"`
	Wrong   string   `json:"wrong,omitempty"` // what is wrong with the program's arguments
	Driver  string   `json:"driver,omitempty"`
	NVML    string   `json:"nvml,omitempty"`
	CUDA    string   `json:"cuda,omitempty"` // the newest that the driver runs: "12.8"
	GPUs    []GPU    `json:"gpus,omitempty"`
	Reasons []Reason `json:"throttle_reasons,omitempty"`
}

// Missing is why nothing can be read.
type Missing struct {
	Denied bool   `json:"denied,omitempty"` // it is there, and may not be used
	What   string `json:"what"`
	Fix    string `json:"fix"`
}

// GPU describes one GPU. What it does not tell is zero or empty.
type GPU struct {
	Index        int    `json:"index"`
	Name         string `json:"name,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	PCI          string `json:"pci,omitempty"` // the bus address
	Architecture string `json:"architecture,omitempty"`
	Major        int    `json:"cc_major,omitempty"` // compute capability
	Minor        int    `json:"cc_minor,omitempty"`
	Cores        int    `json:"cores,omitempty"` // FP32 lanes, "CUDA cores"
	SMs          int    `json:"sms,omitempty"`
	MemoryBytes  uint64 `json:"memory_bytes,omitempty"`

	MaxSM        float64 `json:"max_sm_hz,omitempty"`
	MaxGraphics  float64 `json:"max_graphics_hz,omitempty"`
	MaxMemory    float64 `json:"max_memory_hz,omitempty"`
	AppGraphics  float64 `json:"applications_graphics_hz,omitempty"` // what applications run at, unless something throttles
	AppMemory    float64 `json:"applications_memory_hz,omitempty"`
	PowerLimit   float64 `json:"power_limit_w,omitempty"`
	PowerDefault float64 `json:"power_limit_default_w,omitempty"`

	ECC         string `json:"ecc,omitempty"` // "on" or "off", as are the next two
	MIG         string `json:"mig,omitempty"`
	Persistence string `json:"persistence,omitempty"`

	Sensors     []Sensor `json:"sensors"`
	Unsupported []string `json:"unsupported,omitempty"` // sensors that this GPU, or its driver, has not
}

// Sensor is one quantity that is read of a GPU.
type Sensor struct {
	Name string `json:"name"` // "power", without the GPU
	Unit string `json:"unit"`
	Kind string `json:"kind"` // "instant", "average" or "cumulative"
}

// Reason is a bit of the sensor throttle_reasons.
type Reason struct {
	Bit  uint64 `json:"bit"`
	Name string `json:"name"`
}

// Reading is what the sensors of one GPU said at one time.
type Reading struct {
	T      int64      `json:"t"`      // CLOCK_MONOTONIC, ns: all processes of a machine have the same
	GPU    int        `json:"gpu"`    // its place among Hello.GPUs
	Values []*float64 `json:"values"` // in the order of GPU.Sensors; null is no answer
	End    bool       `json:"end,omitempty"`
}
