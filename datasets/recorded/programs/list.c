#include "program.h"

struct node {
    struct node *next;
    long value;
};

KERNEL long list(const struct node *at, long steps)
{
    long sum = 0;
    while (steps-- > 0) {
        sum += at->value;
        at = at->next;
    }
    return sum;
}

int main(int argc, char **argv)
{
    long n = size(argc, argv);
    struct node *nodes = memory(n * sizeof *nodes);
    long *order = memory(n * sizeof *order);
    for (long i = 0; i < n; i++)
        order[i] = i;
    for (long i = n - 1; i > 0; i--) { // one cycle through all, in no order
        long j = next() % i, t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (long i = 0; i < n; i++)
        nodes[order[i]] = (struct node){&nodes[order[(i + 1) % n]], i};
    printf("%ld\n", list(nodes, 20000));
}
