// A program that does what code under test must not do, one thing for each
// first argument. What it prints says what the system answered.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static int make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	if (fd >= 0)
		close(fd);
	return fd;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "outside")) { // argv[2]: a folder of the machine
		char path[4096];
		snprintf(path, sizeof path, "%s/planted", argv[2]);
		say("make", make(path));
		say("make in /usr", make("/usr/planted"));
		say("remove", unlink("/usr/bin/true"));
		say("move", rename("hostile", "/usr/bin/true"));
		say("move away", rename("/usr/bin/env", "env"));
		say("folder", mkdir("/planted", 0755));
		say("link", symlink("/usr", "way-out"));
		say("through link", make("way-out/planted"));
		say("inside", make("kept.txt"));
		say("temporary", make("/tmp/scratch"));
	} else if (!strcmp(what, "ways")) { // to write outside that do not look like it
		char path[64];
		make("/proc/self/root/usr/planted1");
		make("/proc/self/cwd/../usr/planted2");
		snprintf(path, sizeof path, "/proc/self/fd/%d/planted3", open("/usr", O_PATH));
		make(path);
		symlink("/etc/planted4", "dangling");
		make("dangling");
		make("/dev/planted5");
		chdir("/usr");
		make("../planted6");
		// and what is allowed
		make("/proc/self/comm");
		make("/dev/null");
		make("/dev/shm/mine");
		make("/proc/self/root/work/mine");
	} else if (!strcmp(what, "look")) { // for outputs: out/a.bin, b.bin
		const char *at[] = {"b.bin", "out/a.bin", "/tmp/a.bin", "../reference/b.bin", "c.bin", "/proc/self/cwd/b.bin"};
		for (int i = 0; i < 6; i++)
			open(at[i], O_RDONLY);
		make("b.bin");
		open("b.bin", O_RDONLY);
	} else if (!strcmp(what, "holes")) { // files that take no room here
		for (int i = 0; i < 3; i++) {
			char name[] = "hole0";
			name[4] += i;
			int fd = open(name, O_WRONLY | O_CREAT, 0644);
			say("hole", ftruncate(fd, (off_t)atoi(argv[2]) << 20));
		}
	} else if (!strcmp(what, "deep")) { // folders within folders, argv[2] of them
		for (int i = 0; i < atoi(argv[2]) && !mkdir("d", 0755) && !chdir("d"); i++)
			;
		make("bottom");
	} else if (!strcmp(what, "network")) {
		int s = socket(AF_INET, SOCK_STREAM, 0);
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)};
		inet_pton(AF_INET, "192.0.2.1", &a.sin_addr);
		say("connect", connect(s, (struct sockaddr *)&a, sizeof a));
	} else if (!strcmp(what, "privileges")) {
		say("unshare", unshare(CLONE_NEWUSER));
		say("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
		say("remount", mount("none", "/", NULL, MS_REMOUNT, NULL));
		say("trace", (int)ptrace(PTRACE_ATTACH, 1, NULL, NULL));
		say("memory", open("/proc/1/mem", O_RDWR));
		say("descriptors", open("/proc/1/fd/3", O_RDONLY));
		struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
		say("limit", setrlimit(RLIMIT_NPROC, &all));
		struct timespec t = {0, 0};
		say("clock", clock_settime(CLOCK_REALTIME, &t));
		kill(1, SIGKILL);
		kill(1, SIGSTOP);
	} else if (!strcmp(what, "environment")) {
		for (char **e = environ; *e; e++)
			puts(*e);
	} else if (!strcmp(what, "count")) { // argv[2] processes at once, at most
		int n = 0;
		for (; n < atoi(argv[2]); n++) {
			pid_t p = fork();
			if (p < 0)
				break;
			if (p == 0)
				for (;;)
					pause();
		}
		printf("%d processes: %s\n", n, strerror(errno));
		for (;;)
			pause();
	} else if (!strcmp(what, "fork")) {
		for (;;)
			fork();
	} else if (!strcmp(what, "print")) {
		for (;;)
			puts("and so on");
	} else if (!strcmp(what, "complain")) {
		for (;;)
			fputs("and so on\n", stderr);
	} else if (!strcmp(what, "hang")) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			;
	} else if (!strcmp(what, "memory")) {
		for (;;) {
			char *p = malloc(1 << 20);
			if (!p) {
				perror("malloc"); // "Cannot allocate memory"
				return 1;
			}
			memset(p, 1, 1 << 20);
		}
	} else if (!strcmp(what, "file")) { // one file without end
		FILE *f = fopen("large", "w");
		for (;;)
			fputs("and so on\n", f);
	} else if (!strcmp(what, "files")) { // files until there is no room
		char name[32], data[4096] = {0};
		for (int i = 0;; i++) {
			snprintf(name, sizeof name, "f%d", i);
			int fd = open(name, O_WRONLY | O_CREAT, 0644);
			if (fd < 0 || write(fd, data, sizeof data) < 0) {
				perror("writing");
				return 1;
			}
			close(fd);
		}
	} else if (!strcmp(what, "leave")) { // a child goes on when the parent has ended
		if (fork() == 0)
			for (;;)
				;
	} else if (!strcmp(what, "read")) {
		FILE *f = fopen(argv[2], "r");
		say("read", f ? 0 : -1);
	} else if (!strcmp(what, "traced")) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			;
	} else if (!strcmp(what, "crash")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(what, "abort")) {
		abort();
	} else if (!strcmp(what, "exit")) {
		return atoi(argv[2]);
	} else if (!strcmp(what, "links")) { // links to what is not the program's
		say("link", symlink("/etc/hostname", "stolen"));
		say("link", symlink("../..", "up"));
		say("unreadable", mkdir("closed", 0));
	} else if (!strcmp(what, "touch")) { // argv[2] MiB, for the peak of memory
		size_t n = (size_t)atoi(argv[2]) << 20;
		volatile char *p = malloc(n); // volatile: else the compiler sees that nobody reads it
		for (size_t i = 0; i < n; i += 1024)
			p[i] = 1;
	} else if (!strcmp(what, "echo")) {
		for (int c; (c = getchar()) != EOF;)
			putchar(c);
	} else {
		printf("what is %s?\n", what);
		return 2;
	}
	return 0;
}
