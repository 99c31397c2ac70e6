#include <stdio.h>

/* Adds by counting. */
int main(void) {
  int n;
  volatile long long sum = 0;
  long long largest = 0, paid;
  if (scanf("%d", &n) != 1) return 1;
  while (n-- > 0 && scanf("%lld", &paid) == 1) {
    for (long long i = 0; i < paid; i++) sum++;
    if (paid > largest) largest = paid;
  }
  printf("%lld %lld\n", sum, largest);
  return 0;
}
