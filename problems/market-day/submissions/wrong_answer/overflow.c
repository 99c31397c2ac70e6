#include <stdio.h>

int main(void) {
  int n, paid, largest = 0;
  unsigned sum = 0;
  if (scanf("%d", &n) != 1) return 1;
  while (n-- > 0 && scanf("%d", &paid) == 1) {
    sum += (unsigned)paid;
    if (paid > largest) largest = paid;
  }
  printf("%u %d\n", sum, largest);
  return 0;
}
