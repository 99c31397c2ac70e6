#include <stdio.h>

int main(void) {
  int n;
  long long sum = 0, largest = 0, paid;
  if (scanf("%d", &n) != 1) return 1;
  while (n-- > 0 && scanf("%lld", &paid) == 1) {
    sum += paid;
    if (paid > largest) largest = paid;
  }
  printf("%lld %lld\n", sum, largest);
  return 0;
}
