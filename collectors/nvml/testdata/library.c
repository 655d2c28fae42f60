/* A library with the functions of NVIDIA's that the collector calls, of GPUs
 * that do not exist. Macros: GPUS, INIT and HANDLE (what nvmlInit and
 * DeviceGetHandleByIndex return), OLD (functions of newer drivers are not
 * there), NEW (functions of the newest are), OTHER (hardly any function is),
 * CRASH (the reading of power that ends the program). */
#include <stdio.h>
#include <string.h>

#ifndef GPUS
#define GPUS 2
#endif
#ifndef INIT
#define INIT 0
#endif
#ifndef HANDLE
#define HANDLE 0
#endif

typedef long device;

int nvmlInit_v2(void) { return INIT; }
#ifndef OTHER
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code)
{
	static char text[32];
	snprintf(text, sizeof text, "text of %d", code);
	return text;
}
static int copy(char *to, unsigned n, const char *text)
{
	if (strlen(text) >= n)
		return 7;
	strcpy(to, text);
	return 0;
}
int nvmlSystemGetDriverVersion(char *s, unsigned n) { return copy(s, n, "570.86"); }
int nvmlSystemGetNVMLVersion(char *s, unsigned n) { return copy(s, n, "12.570.86"); }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = 12080; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = GPUS; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *d) { *d = 1000 + i; return HANDLE; }
int nvmlDeviceGetName(device d, char *s, unsigned n) { return copy(s, n, "Pretend 100"); }
int nvmlDeviceGetUUID(device d, char *s, unsigned n) { return copy(s, n, d == 1000 ? "GPU-0" : "GPU-1"); }
int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetPowerUsage(device d, unsigned *mW)
{
#ifdef CRASH
	static int calls;
	if (++calls == CRASH)
		*(volatile int *)8 = 1;
#endif
	*mW = 250000;
	return 0;
}
int nvmlDeviceGetPowerManagementLimit(device d, unsigned *mW) { *mW = 700000; return 0; }
int nvmlDeviceGetClockInfo(device d, unsigned kind, unsigned *MHz) { *MHz = kind == 2 ? 2619 : 1980; return 0; }
int nvmlDeviceGetMaxClockInfo(device d, unsigned kind, unsigned *MHz) { *MHz = kind == 2 ? 2619 : 1980; return 0; }
int nvmlDeviceGetMemoryInfo(device d, unsigned long long m[3]) { m[0] = 80ULL << 30; m[1] = 79ULL << 30; m[2] = 1ULL << 30; return 0; }
int nvmlDeviceGetTemperature(device d, unsigned kind, unsigned *C) { *C = 44; return 0; }
int nvmlDeviceGetUtilizationRates(device d, unsigned u[2]) { return 3; }
#ifndef OLD
int nvmlDeviceGetTotalEnergyConsumption(device d, unsigned long long *mJ)
{
	static unsigned long long now[2] = {5000000, 7000000};
	*mJ = now[d - 1000] += 3000;
	return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long *bits)
{
	static unsigned long long calls;
	*bits = calls++ / GPUS % 2 ? 4 : 0;
	return 0;
}
struct field { unsigned id, scope; long long time, latency; unsigned type, code; union { unsigned u; unsigned long long ull; } v; };
int nvmlDeviceGetFieldValues(device d, int n, struct field *f)
{
	static unsigned long long sent[2] = {9000, 9000};
	for (int i = 0; i < n; i++) {
		f[i].code = 0;
		f[i].type = 1;
		switch (f[i].id) {
		case 186: f[i].v.u = 251500; break;
		case 82: f[i].v.u = 60; break;
		case 197: f[i].type = 3; f[i].v.ull = sent[d - 1000] += 1000; break;
		case 198: f[i].v.u = 1; break; /* 32 bits */
		default: f[i].code = 3;
		}
	}
	return 0;
}
int nvmlDeviceGetFanSpeed(device d, unsigned *percent) { *percent = 30; return 0; }
int nvmlDeviceGetNumGpuCores(device d, unsigned *n) { *n = 16896; return 0; }
int nvmlDeviceGetArchitecture(device d, unsigned *a) { *a = 9; return 0; }
int nvmlDeviceGetEccMode(device d, unsigned *now, unsigned *pending) { *now = *pending = 1; return 0; }
int nvmlDeviceGetMigMode(device d, unsigned *now, unsigned *pending) { *now = 0; *pending = 1; return 0; }
int nvmlDeviceGetPersistenceMode(device d, unsigned *on) { *on = 1; return 0; }
int nvmlDeviceGetApplicationsClock(device d, unsigned kind, unsigned *MHz) { *MHz = kind == 2 ? 2619 : 1755; return 0; }
int nvmlDeviceGetPowerManagementDefaultLimit(device d, unsigned *mW) { *mW = 650500; return 0; }
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(device d, struct pci *p) { return copy(p->bus_id, sizeof p->bus_id, "00000000:65:00.0"); }
#endif
#ifdef NEW
int nvmlDeviceGetCurrentClocksEventReasons(device d, unsigned long long *bits) { *bits = 0x40 | 0x100000; return 0; }
#endif
#endif
