package tokenize

import "strings"

// builtinC says that a function of this name is one of C's mathematics, CUDA
// or OpenCL. A text that defines such a function adds an overload to it, so
// that its name must stay.
func builtinC(name string) bool {
	if cBuiltins[name] || cBuiltins[strings.TrimRight(name, "fl")] {
		return true
	}
	for _, p := range cBuiltinPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

var cBuiltinPrefixes = []string{"__", "make_", "atomic", "atom_", "get_", "convert_", "as_", "vload", "vstore", "native_", "half_",
	"async_work_group_", "work_group_", "sub_group_", "read_image", "write_image", "tex1D", "tex2D", "tex3D", "surf1D", "surf2D", "surf3D"}

// cBuiltins are the functions of math.h (ISO C), of the CUDA Math API and of
// OpenCL C 3.0, sections 6.15.2 to 6.15.5, without those that a prefix covers.
var cBuiltins = set(strings.Fields(`
	main memcpy memset malloc free printf assert clock clock64 swap
	acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx
	erfinv exp exp2 exp10 expm1 fabs fdim fdivide floor fma fmax fmin fmod fract frexp hypot ilogb isfinite isinf isnan isnormal
	j0 j1 jn y0 y1 yn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround mad maxmag minmag modf nan nearbyint
	nextafter norm norm3d norm4d normcdf normcdfinv pow pown powr rcbrt remainder remquo rhypot rint rnorm rootn round rsqrt
	scalbn scalbln signbit sin sincos sincospi sinh sinpi sqrt tan tanh tanpi tgamma trunc
	abs labs llabs abs_diff add_sat hadd rhadd clamp clz ctz mad_hi mad24 mad_sat max min umin umax ullmin ullmax llmin llmax
	mul_hi mul24 popcount rotate sub_sat upsample degrees radians mix step smoothstep sign saturate lerp
	cross dot distance length normalize fast_distance fast_length fast_normalize reflect
	isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered any all bitselect select
	shuffle shuffle2 barrier mem_fence read_mem_fence write_mem_fence prefetch wait_group_events`)...)
