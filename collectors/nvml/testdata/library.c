/* A library with the functions of NVIDIA's that the collector calls, of GPUs
 * that do not exist. Macros: GPUS, INIT and HANDLE (what nvmlInit and
 * DeviceGetHandleByIndex return), OLD (functions of newer drivers are not
 * there), OTHER (hardly any function is). */
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
int nvmlDeviceGetPowerUsage(device d, unsigned *mW) { *mW = 250000; return 0; }
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
struct field { unsigned id, scope; long long time, latency; unsigned type, code; unsigned mW, rest; };
int nvmlDeviceGetFieldValues(device d, int n, struct field *f)
{
	f->code = f->id == 186 ? 0 : 3;
	f->mW = 251500;
	return 0;
}
#endif
#endif
