package stalls_test

import (
	"testing"

	"github.com/rooflab/rooflab/modeling/stalls"
)

// Spellings as they stand in headers of ncu (raw page, SOURCE page, GUI), in
// CUPTI's, ROCprofiler-SDK's and HPCToolkit's names and in perf's events.
func TestReasonsInTheirSpellings(t *testing.T) {
	for want, spellings := range map[string][]string{
		"long_scoreboard":    {"long_scoreboard", "stall_long_sb", "Stall Long Scoreboard", "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", "stall_long_sb (Not Issued)", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"},
		"short_scoreboard":   {"stall_short_sb", "Stall Short Scoreboard"},
		"lg_throttle":        {"stall_lg", "lg_throttle", "Stall LG Throttle"},
		"mio_throttle":       {"stall_mio", "Stall MIO Throttle"},
		"tex_throttle":       {"stall_tex", "tex_throttle"},
		"math_pipe_throttle": {"stall_math", "math_pipe_throttle", "GINS:STL_PIPE", "CUPTI_ACTIVITY_PC_SAMPLING_STALL_PIPE_BUSY"},
		"wait":               {"stall_wait", "WAIT"},
		"barrier":            {"stall_barrier", "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_BARRIER_WAIT"},
		"membar":             {"stall_membar"},
		"branch_resolving":   {"stall_branch_resolving", "branch resolving", "branch_resolve"},
		"no_instructions":    {"no_instruction", "no_instructions", "stall_no_inst", "smsp__pcsamp_warps_issue_stalled_no_instructions", "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_NO_INSTRUCTION_AVAILABLE"},
		"imc_miss":           {"stall_imc", "imc_miss", "Stall IMC Miss"},
		"dispatch_stall":     {"stall_dispatch", "dispatch_stall"},
		"drain":              {"stall_drain"},
		"sleeping":           {"stall_sleeping", "GINS:STL_SLP", "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_SLEEP_WAIT"},
		"not_selected":       {"stall_not_selected", "Stall Not Selected", "not selected", "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ARBITER_NOT_WIN"},
		"selected":           {"stall_selected", "smsp__pcsamp_warps_issue_stalled_selected"},
		"misc":               {"stall_misc", "CUPTI_ACTIVITY_PC_SAMPLING_STALL_OTHER"},
		"gmma":               {"stall_gmma", "smsp__pcsamp_warps_issue_stalled_gmma"},
		"amd_waitcnt":        {"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"},
		"perf_frontend":      {"stalled-cycles-frontend", "idle-cycles-frontend"},
		"perf_backend":       {"stalled-cycles-backend"},
	} {
		for _, s := range spellings {
			r, ok := stalls.LookUp(s)
			if !ok || r.Name != want || stalls.Canonical(s) != want {
				t.Errorf("%q is %q, want %q", s, r.Name, want)
			}
		}
	}
	if _, ok := stalls.LookUp("cycles"); ok || stalls.Canonical("L1 thing") != "L1 thing" {
		t.Error("a reason that nobody knows is known")
	}
}

func TestReasonsAreComplete(t *testing.T) {
	seen := map[string]string{}
	for _, r := range stalls.Reasons {
		if r.Meaning == "" || r.Remedy == "" || r.Group == "" {
			t.Errorf("%s lacks a text", r.Name)
		}
		for _, s := range append([]string{r.Name}, r.Spellings...) {
			if other, twice := seen[s]; twice {
				t.Errorf("%q is both %s and %s", s, other, r.Name)
			}
			seen[s] = r.Name
			if got := stalls.Canonical(s); got != r.Name {
				t.Errorf("%q is %s, want %s", s, got, r.Name)
			}
		}
	}
}

// Opcodes with what the manuals of their instruction sets say they do.
func TestTypesOfInstructions(t *testing.T) {
	for _, tt := range []struct {
		isa  string
		want stalls.Class
		ops  []string
	}{
		{"sass", stalls.LoadGlobal, []string{"LDG", "LDG.E.64.CONSTANT", "@!P0 LDG.E R2, [R4.64]"}},
		{"sass", stalls.StoreGlobal, []string{"STG.E"}},
		{"sass", stalls.LoadShared, []string{"LDS.U.128", "LDSM.16.M88.4"}},
		{"sass", stalls.StoreShared, []string{"STS"}},
		{"sass", stalls.LoadLocal, []string{"LDL"}},
		{"sass", stalls.StoreLocal, []string{"STL.64"}},
		{"sass", stalls.LoadAny, []string{"LD.E"}},
		{"sass", stalls.LoadConst, []string{"LDC", "ULDC.64", "LDCU"}},
		{"sass", stalls.FP32, []string{"FFMA", "FADD.FTZ", "FSETP.GEU.AND", "FMNMX"}},
		{"sass", stalls.FP64, []string{"DFMA", "DMUL", "DADD", "DSETP.GT.AND"}},
		{"sass", stalls.FP16, []string{"HFMA2.MMA", "HADD2.F32"}},
		{"sass", stalls.Tensor, []string{"HMMA.16816.F32", "IMMA.16832.S8.S8", "HGMMA.64x128x16.F32", "DMMA.884", "UTCHMMA"}},
		{"sass", stalls.Integer, []string{"IMAD.WIDE", "IADD3", "LOP3.LUT", "ISETP.GE.AND", "LEA.HI.X", "UIADD3", "USHF.L.U32", "VIADD"}},
		{"sass", stalls.Special, []string{"MUFU.RCP64H", "MUFU.EX2"}},
		{"sass", stalls.Convert, []string{"F2I.TRUNC", "I2F.U32.RP", "F2F.F64.F32"}},
		{"sass", stalls.Move, []string{"MOV", "S2R", "CS2R", "SEL", "PRMT", "UMOV", "R2UR"}},
		{"sass", stalls.Exchange, []string{"SHFL.BFLY", "VOTE.ANY", "REDUX.SUM"}},
		{"sass", stalls.Branch, []string{"BRA", "EXIT", "BSSY", "BSYNC", "CALL.REL.NOINC", "RET.REL.NODEC", "WARPSYNC"}},
		{"sass", stalls.Barrier, []string{"BAR.SYNC.DEFER_BLOCKING", "SYNCS.PHASECHK.TRANS64.TRYWAIT"}},
		{"sass", stalls.Fence, []string{"MEMBAR.SC.GPU", "ERRBAR"}},
		{"sass", stalls.Atomic, []string{"ATOMG.E.ADD", "RED.E.ADD.F32", "ATOMS.CAST.SPIN"}},
		{"sass", stalls.AsyncCopy, []string{"LDGSTS.E.BYPASS.128", "UTMALDG.2D", "UBLKCP"}},
		{"sass", stalls.Wait, []string{"DEPBAR.LE", "LDGDEPBAR"}},
		{"sass", stalls.Texture, []string{"TEX.LL", "SULD.D.2D", "TLD4"}},
		{"sass", stalls.OtherClass, []string{"FROBNICATE"}},
		{"sass", stalls.Unknown, []string{"", "  "}},
		{"source", stalls.Unknown, []string{"LDG"}},
		{"ptx", stalls.LoadGlobal, []string{"ld.global.f32", "ld.global.nc.v4.f32", "@%p1 ld.global.f32"}},
		{"ptx", stalls.StoreShared, []string{"st.shared.u32", "st.shared::cta.f32"}},
		{"ptx", stalls.LoadConst, []string{"ld.param.u64"}},
		{"ptx", stalls.FP32, []string{"fma.rn.f32", "add.f32"}},
		{"ptx", stalls.FP64, []string{"mul.f64", "div.rn.f64"}},
		{"ptx", stalls.Integer, []string{"mad.lo.s32", "shl.b64", "setp.ge.s32", "and.pred"}},
		{"ptx", stalls.Special, []string{"sqrt.approx.f32", "ex2.approx.ftz.f32"}},
		{"ptx", stalls.Barrier, []string{"bar.sync", "mbarrier.try_wait.shared.b64"}},
		{"ptx", stalls.Tensor, []string{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"}},
		{"ptx", stalls.Atomic, []string{"atom.global.add.u32", "red.shared.add.f32"}},
		{"ptx", stalls.Branch, []string{"bra", "bra.uni", "ret"}},
		{"ptx", stalls.AsyncCopy, []string{"cp.async.cg.shared.global"}},
		{"ptx", stalls.Wait, []string{"cp.async.wait_group"}},
		{"gcn", stalls.LoadGlobal, []string{"global_load_dwordx4", "buffer_load_dword"}},
		{"gcn", stalls.StoreGlobal, []string{"global_store_dword"}},
		{"gcn", stalls.LoadAny, []string{"flat_load_dword"}},
		{"gcn", stalls.LoadShared, []string{"ds_read_b128", "ds_load_b64"}},
		{"gcn", stalls.StoreShared, []string{"ds_write_b32", "ds_store_b32"}},
		{"gcn", stalls.LoadLocal, []string{"scratch_load_dword"}},
		{"gcn", stalls.Atomic, []string{"global_atomic_add_f32", "ds_add_u32"}},
		{"gcn", stalls.LoadConst, []string{"s_load_dwordx2"}},
		{"gcn", stalls.FP32, []string{"v_fma_f32", "v_add_f32_e32", "v_pk_fma_f32"}},
		{"gcn", stalls.FP64, []string{"v_fma_f64"}},
		{"gcn", stalls.Tensor, []string{"v_mfma_f32_32x32x8f16"}},
		{"gcn", stalls.Special, []string{"v_rcp_f32_e32", "v_exp_f32"}},
		{"gcn", stalls.Integer, []string{"v_add_u32_e32", "v_lshlrev_b64", "s_add_u32"}},
		{"gcn", stalls.Wait, []string{"s_waitcnt", "s_wait_loadcnt"}},
		{"gcn", stalls.Barrier, []string{"s_barrier"}},
		{"gcn", stalls.Branch, []string{"s_cbranch_vccnz", "s_endpgm"}},
		{"gcn", stalls.Move, []string{"v_mov_b32_e32", "s_mov_b64", "v_cndmask_b32"}},
		{"x86_64", stalls.OtherClass, []string{"vfmadd213pd"}},
	} {
		for _, op := range tt.ops {
			if got := stalls.Classify(tt.isa, op); got != tt.want {
				t.Errorf("%s %q is %s, want %s", tt.isa, op, got, tt.want)
			}
		}
	}
}
