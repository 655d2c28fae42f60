package stalls

import "strings"

// Class is a type of instruction.
type Class string

// Types of instructions.
const (
	LoadGlobal  Class = "load global"
	StoreGlobal Class = "store global"
	LoadShared  Class = "load shared"
	StoreShared Class = "store shared"
	LoadLocal   Class = "load local" // registers that were spilled, arrays of a thread
	StoreLocal  Class = "store local"
	LoadAny     Class = "load generic" // the address says which memory
	StoreAny    Class = "store generic"
	LoadConst   Class = "load constant"
	Texture     Class = "texture and surface"
	Atomic      Class = "atomic"
	AsyncCopy   Class = "asynchronous copy"
	Cache       Class = "cache control"
	FP16        Class = "FP16"
	FP32        Class = "FP32"
	FP64        Class = "FP64"
	Tensor      Class = "tensor"
	Integer     Class = "integer"
	Special     Class = "special function" // MUFU: reciprocals, roots, sines, logarithms
	Convert     Class = "conversion"
	Move        Class = "move and select"
	Exchange    Class = "exchange in the warp" // shuffles, votes
	Branch      Class = "branch"
	Barrier     Class = "barrier"
	Fence       Class = "fence"
	Wait        Class = "wait for results" // DEPBAR, s_waitcnt
	OtherClass  Class = "other"
	Unknown     Class = "unknown" // the profile does not say the instruction
)

// sass are the types of NVIDIA's machine instructions, by opcode without its
// modifiers. Opcodes of the uniform datapath are found without their U.
var sass = table(map[Class]string{
	LoadGlobal:  "LDG",
	StoreGlobal: "STG",
	LoadShared:  "LDS LDSM",
	StoreShared: "STS STSM",
	LoadLocal:   "LDL",
	StoreLocal:  "STL",
	LoadAny:     "LD",
	StoreAny:    "ST",
	LoadConst:   "LDC LDCU ULDC",
	Texture:     "TEX TEXS TLD TLDS TLD4 TLD4S TMML TXD TXQ SULD SUST SUATOM SURED SUQUERY SUEAU SUBFM SUCLAMP FOOTPRINT PIXLD IPA AL2P ALD AST OUT ISBERD",
	Atomic:      "ATOM ATOMG ATOMS RED REDG REDAS ATOMIC",
	AsyncCopy:   "LDGSTS UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH",
	Cache:       "CCTL CCTLL CCTLT",
	FP16:        "HADD2 HMUL2 HFMA2 HMNMX2 HSET2 HSETP2 HADD2_32I HMUL2_32I HFMA2_32I VHMNMX",
	FP32:        "FADD FADD2 FADD32I FMUL FMUL2 FMUL32I FFMA FFMA2 FFMA32I FMNMX FMNMX3 FSEL FSET FSETP FCMP FSWZADD FCHK RRO",
	FP64:        "DADD DMUL DFMA DSETP DSET DMNMX",
	Tensor:      "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA WARPGROUP WARPGROUPSET UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA UTCBAR UTCCP UTCSHIFT UTCATOMSWS LDTM STTM LDT STT",
	Integer:     "IADD IADD2 IADD3 IADD32I IMAD IMAD32I IMUL IMUL32I ISCADD ISCADD32I ISAD IABS IMNMX ISETP ISET ICMP LEA LOP LOP3 LOP32I SHF SHL SHR BFE BFI BMSK BREV FLO POPC SGXT XMAD IDP IDP4A DP4A VABSDIFF VABSDIFF4 VADD VADD2 VADD4 VIADD VIADDMNMX VIMNMX VIMNMX3 VMAD VMNMX VSET VSETP VSHL VSHR VSUB ISUB CLMAD CREDUX",
	Special:     "MUFU",
	Convert:     "F2F F2FP F2I F2IP F2FP I2F I2FP I2I I2IP I2HP FRND",
	Move:        "MOV MOV32I MOVM SEL PRMT CS2R CS2UR S2R S2UR R2UR UR2R P2R R2P PSET PSETP PLOP3 R2B B2R CSET CSETP NOP LEPC GETLMEMBASE SETLMEMBASE SETCTAID SETMAXREG USETMAXREG",
	Exchange:    "SHFL VOTE VOTEU MATCH REDUX ELECT",
	Branch:      "BRA BRX BRXU JMP JMX JMXU JCAL CALL CAL PRET RET EXIT BSSY BSYNC BREAK BRK BMOV BPT KILL SSY SYNC PBK PCNT CONT PEXIT LONGJMP PLONGJMP RTT RPCMOV WARPSYNC YIELD",
	Barrier:     "BAR SYNCS ARRIVES UCGABAR_ARV UCGABAR_WAIT CGAERRBAR ACQBULK CCTLBAR",
	Fence:       "MEMBAR ERRBAR FENCE",
	Wait:        "DEPBAR LDGDEPBAR NANOSLEEP UTMACMDWAIT",
})

func table(of map[Class]string) map[string]Class {
	m := map[string]Class{}
	for c, names := range of {
		for _, n := range strings.Fields(names) {
			m[n] = c
		}
	}
	return m
}

// Classify says of which type an instruction is. isa is that of the table
// code ("sass", "ptx", "gcn" and the like); opcode may have modifiers and
// predicates. It knows NVIDIA's SASS and PTX and AMD's instructions; where isa
// does not tell which, the opcode's form does.
func Classify(isa, opcode string) Class {
	op := strings.TrimSpace(opcode)
	for f := range strings.FieldsSeq(opcode) {
		if f[0] == '@' || f == "{" {
			continue
		}
		op = strings.TrimSuffix(f, ";")
		break
	}
	if op == "" || isa == "source" {
		return Unknown
	}
	upper := strings.ToUpper(op)
	switch {
	case isa == "sass" || isa == "" && op == upper:
		return ofSASS(upper)
	case isa == "ptx" || strings.Contains(op, "."):
		return ofPTX(strings.ToLower(op))
	case amdLike(op):
		return ofAMD(strings.ToLower(op))
	}
	return OtherClass
}

func ofSASS(op string) Class {
	base, _, _ := strings.Cut(op, ".")
	if c, ok := sass[base]; ok {
		return c
	}
	if rest, ok := strings.CutPrefix(base, "U"); ok {
		if c, ok := sass[rest]; ok {
			return c
		}
		if strings.HasPrefix(rest, "TC") {
			return Tensor
		}
	}
	return OtherClass
}

func ofPTX(op string) Class {
	parts := strings.Split(op, ".")
	has := func(names ...string) bool {
		for _, p := range parts[1:] {
			for _, n := range names {
				if p == n || strings.HasPrefix(p, n+"::") {
					return true
				}
			}
		}
		return false
	}
	space := func(global, shared, local, other Class) Class {
		switch {
		case has("global"):
			return global
		case has("shared"):
			return shared
		case has("local"):
			return local
		case has("param", "const"):
			return LoadConst
		}
		return other
	}
	switch parts[0] {
	case "ld", "ldu", "ldmatrix":
		if parts[0] == "ldmatrix" {
			return LoadShared
		}
		if parts[0] == "ldu" && len(parts) < 2 {
			return LoadAny
		}
		return space(LoadGlobal, LoadShared, LoadLocal, LoadAny)
	case "st", "stmatrix":
		if parts[0] == "st" && has("param") {
			return Move
		}
		if parts[0] == "stmatrix" {
			return StoreShared
		}
		return space(StoreGlobal, StoreShared, StoreLocal, StoreAny)
	case "atom", "red", "multimem":
		return Atomic
	case "cp":
		if has("wait_group", "wait_all") {
			return Wait
		}
		return AsyncCopy
	case "prefetch", "prefetchu", "discard", "applypriority", "createpolicy":
		return Cache
	case "tex", "tld4", "txq", "suld", "sust", "sured", "suq":
		return Texture
	case "mma", "wmma", "wgmma", "tcgen05":
		return Tensor
	case "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh":
		if has("f64") {
			return FP64
		}
		return Special
	case "cvt", "cvta":
		if parts[0] == "cvta" {
			return Move
		}
		return Convert
	case "mov", "selp", "slct", "set", "prmt", "isspacep", "mapa":
		return Move
	case "shfl", "vote", "match", "redux", "activemask", "elect":
		return Exchange
	case "bra", "brx", "call", "ret", "exit", "trap", "brkpt":
		return Branch
	case "bar", "barrier", "mbarrier":
		return Barrier
	case "membar", "fence":
		return Fence
	case "nanosleep", "griddepcontrol":
		return Wait
	}
	switch {
	case has("f64"):
		return FP64
	case has("f16", "f16x2", "bf16", "bf16x2"):
		return FP16
	case has("f32", "f32x2"):
		return FP32
	case has("s16", "s32", "s64", "u16", "u32", "u64", "b16", "b32", "b64", "pred"):
		return Integer
	}
	return OtherClass
}

func amdLike(op string) bool {
	for _, p := range []string{"s_", "v_", "ds_", "global_", "flat_", "buffer_", "scratch_", "image_", "tbuffer_"} {
		if strings.HasPrefix(strings.ToLower(op), p) {
			return true
		}
	}
	return false
}

func ofAMD(op string) Class {
	kind, rest, _ := strings.Cut(op, "_")
	holds := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(rest, n) {
				return true
			}
		}
		return false
	}
	access := func(load, store Class) Class {
		switch {
		case holds("atomic"):
			return Atomic
		case holds("load", "read"):
			return load
		case holds("store", "write"):
			return store
		}
		return Cache
	}
	switch kind {
	case "global", "buffer", "tbuffer":
		return access(LoadGlobal, StoreGlobal)
	case "flat":
		return access(LoadAny, StoreAny)
	case "scratch":
		return access(LoadLocal, StoreLocal)
	case "image":
		return Texture
	case "ds":
		switch {
		case holds("permute", "swizzle", "bpermute"):
			return Exchange
		case holds("load", "read"):
			return LoadShared
		case holds("store", "write"):
			return StoreShared
		}
		return Atomic
	case "s":
		switch {
		case holds("load_", "buffer_load"):
			return LoadConst
		case holds("waitcnt", "wait_", "sleep", "delay_alu"):
			return Wait
		case holds("barrier"):
			return Barrier
		case holds("branch", "setpc", "swappc", "endpgm", "call"):
			return Branch
		case holds("icache", "dcache"):
			return Cache
		case strings.HasPrefix(rest, "mov") || strings.HasPrefix(rest, "cselect") || strings.HasPrefix(rest, "nop") || strings.HasPrefix(rest, "getreg") || strings.HasPrefix(rest, "setreg"):
			return Move
		}
		return Integer
	}
	switch { // of the vector unit
	case holds("mfma", "wmma", "smfmac", "swmmac"):
		return Tensor
	case strings.HasPrefix(rest, "cvt"):
		return Convert
	case holds("rcp_", "rsq_", "sqrt_", "exp_", "log_", "sin_", "cos_") && !holds("f64"):
		return Special
	case holds("readlane", "readfirstlane", "writelane", "permlane"):
		return Exchange
	case strings.HasPrefix(rest, "mov") || strings.HasPrefix(rest, "cndmask") || strings.HasPrefix(rest, "accvgpr") || strings.HasPrefix(rest, "nop") || strings.HasPrefix(rest, "perm_"):
		return Move
	case holds("f64"):
		return FP64
	case holds("f32"):
		return FP32
	case holds("f16"):
		return FP16
	}
	return Integer
}
