package ncurep

import (
	"fmt"
	"strconv"
	"strings"
)

// Instructions of compute capability 7.0 and later have 128 bits. The lowest
// nine name the operation, the next three the kinds of its operands, and the
// three after them, with one for "not", the predicate that guards it.
//
// The table was made by experiment: nvdisasm 12.4 and 13.0 were given every
// value of the lowest twelve bits with many operands, for 7.0, 7.5, 8.0, 8.6,
// 8.9, 9.0, 10.0 and 12.0, and what they named is listed. Where capabilities
// differ, renamed has the rest.
const operations = `
ACQBULK 02e; ACQSHMINIT 077; AL2P 120; ALD 121; ARRIVES 1b0; AST 122; ATOM 18a 18b 1a2; ATOMG 1a3 1a8 1a9
ATOMS 18c 18d; B2R 11c; BAR 11d; BGMMA 1f2; BMMA 03d; BMOV 155 156 157; BMSK 01b; BPT 15c; BRA 147
BREAK 142; BREV 101; BRX 149; BRXU 158; BSSY 145; BSYNC 141; CALL 143 144; CCTL 13f 140 18f; CCTLL 190
CCTLT 191; CREDUX 0cc; CS2R 005; CS2UR 0cb; CSMTEST 00d; DADD 029; DEPBAR 11a; DFMA 02b; DMMA 03f; DMUL 028
DSETP 02a; ELECT 02f; ENDCOLLECTIVE 11b; ERRBAR 1ab; EXIT 14d; F2F 104 110; F2FP 03e; F2I 105 111; F2IP 043
FADD 021; FADD2 04b; FCHK 102; FENCE 1c6; FFMA 023; FFMA2 049; FLO 100; FMNMX 009; FMNMX3 076; FMUL 020
FMUL2 04a; FOOTPRINT 172 173 174; FRND 107 113; FSEL 008; FSET 00a; FSETP 00b; FSWZADD 022; GETLMEMBASE 1c0
HADD2 030; HFMA2 031 035; HGMMA 1f0; HMMA 03c; HMNMX2 040; HMUL2 032; HSET2 033; HSETP2 034; I2F 106 112
I2FP 045; I2I 038; I2IP 039; IABS 013; IADD3 010; IDP 026; IGMMA 1f1; IMAD 024 025 027; IMMA 037; IMNMX 017
IPA 126; ISBERD 123; ISBEWR 127; ISETP 00c; JMP 14a; JMX 14c; JMXU 159; KILL 15b; LD 180; LDC 182; LDCU 1ac
LDG 17e 181; LDGDEPBAR 1af; LDGMC 1a4 1a5; LDGSTS 1ae; LDL 183; LDS 184; LDSM 03b; LDTM 1ee; LDTRAM 1ad
LEA 011; LEPC 14e; LOP3 012; MATCH 1a1; MEMBAR 192; MOV 002; MOVM 03a; MUFU 108; NANOSLEEP 15d; NOP 118
OMMA 07f; OUT 124; P2R 003; PIXLD 125; PLOP3 01c 01d 01e 01f; PMTRIG 001; POPC 109; PREEXIT 02d; PRMT 016
QADD4 07d; QFMA4 07b; QGMMA 1f3; QMMA 07a; QMUL4 07c; QSPC 1aa; R2B 11e; R2P 004; R2UR 0ca 1c2; RED 18e
REDAS 1be; REDG 1a6; REDUX 1c4; RET 150; RPCMOV 152 153 154; RTT 14f; S2R 119; S2UR 1c3; SEL 007
SETCTAID 11f; SETLMEMBASE 1c1; SGXT 01a; SHF 019; SHFL 189; ST 185; STAS 1bd; STG 17f 186; STL 187; STS 188
STSM 044; STTM 1ed; SUATOM 193 194 195 196; SULD 197 198 199 19a; SUQUERY 1b3; SURED 19f 1a0
SUST 19b 19c 19d 19e; SYNCS 1a7 1b1 1b2; TEX 160 161 162; TLD 166 167 168; TLD4 163 164 165
TMML 169 16a 16b; TXD 16c 16d 16e; TXQ 16f 170 171; UBLKCP 1ba; UBLKPF 1bc; UBLKRED 1bb; UBMSK 09b
UBREV 0be; UCGABAR_ARV 1c7; UCLEA 0bc; UF2F 05b; UF2FP 0ba; UF2I 05c; UF2IP 059; UFADD 054; UFFMA 055
UFLO 0bd; UFMNMX 050; UFMUL 056; UFRND 05d; UFSEL 051; UFSET 052; UFSETP 053; UGETNEXTWORKID 1ca; UI2F 05a
UI2FP 05e; UI2I 04e; UI2IP 04f; UIABS 04d; UIADD3 090 097; UIMAD 0a4 0a5 0a6; UIMNMX 085; UISETP 08c
ULDC 0b8 0b9 0bb; ULEA 091; ULEPC 1ce; ULOP3 092; UMEMSETS 1cb; UMOV 082; UP2UR 083; UPLOP3 09c 09d 09e 09f
UPOPC 0bf; UPRMT 096; UR2UP 084; UREDGR 178; USEL 087; USETMAXREG 1c8; USETSHMSZ 1c9; USGXT 09a; USHF 099
USTGR 177; UTCATOMSWS 1e3; UTCBAR 1e9; UTCCP 1e7; UTCSHIFT 1e6; UTMACCTL 1b9; UTMACMDFLUSH 1b7; UTMALDG 1b4
UTMAPF 1b8; UTMAREDG 1b6; UTMASTG 1b5; UVIRTCOUNT 04c; VABSDIFF 014; VABSDIFF4 015; VHMNMX 047; VIADD 036
VIADDMNMX 046; VIMNMX 048; VIMNMX3 00f; VOTE 006; VOTEU 086; WARPGROUP 1c5; WARPGROUPSET 15e; WARPSYNC 148
YIELD 146`

// renamed are operations, or operations with kinds of operands (width 12),
// that have another name on some capabilities (ten times major plus minor).
var renamed = []struct {
	op, width, from, below int
	name                   string
}{
	{0x035, 9, 120, 1000, "IADD"},
	{0x036, 9, 0, 80, "HMMA"},
	{0x049, 9, 120, 1000, "UVIADD"},
	{0x04a, 9, 120, 1000, "UVIMNMX"},
	{0x18e, 9, 0, 90, "RED"},
	{0x5ab, 12, 90, 1000, "CGAERRBAR"},
	{0x154, 9, 120, 1000, "MOV64IUR"},
	{0xdc7, 12, 90, 1000, "UCGABAR_WAIT"},
}

var mnemonics = func() (names [512]string) {
	for _, entry := range strings.FieldsFunc(operations, func(r rune) bool { return r == ';' || r == '\n' }) {
		name, codes, _ := strings.Cut(strings.TrimSpace(entry), " ")
		for _, c := range strings.Fields(codes) {
			if op, err := strconv.ParseUint(c, 16, 9); err == nil {
				names[op] = name
			}
		}
	}
	return names
}()

// mnemonic is the name of an instruction, "" where it is not known; low is the
// lower half of its encoding, sm the capability, 86 for 8.6.
func mnemonic(low uint64, sm int) string {
	if sm < 70 {
		return ""
	}
	op := int(low & 0x1ff)
	for _, r := range renamed {
		if int(low&(1<<r.width-1)) == r.op && sm >= r.from && sm < r.below {
			return r.name
		}
	}
	return mnemonics[op]
}

// sassText is an instruction as text: its guard, its mnemonic and, since
// nothing here knows operands, its encoding.
func sassText(name string, low, high uint64) string {
	guard := ""
	if pred := low >> 12 & 7; pred != 7 || low>>15&1 == 1 {
		not, reg := "", "PT"
		if low>>15&1 == 1 {
			not = "!"
		}
		if pred != 7 {
			reg = fmt.Sprintf("P%d", pred)
		}
		if strings.HasPrefix(name, "U") { // the uniform datapath has predicates of its own
			reg = "U" + reg
		}
		guard = "@" + not + reg + " "
	}
	if name == "" {
		name = "?"
	}
	return fmt.Sprintf("%s%s /* 0x%016x 0x%016x */", guard, name, low, high)
}
