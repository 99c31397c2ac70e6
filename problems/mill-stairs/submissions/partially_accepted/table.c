#include <stdio.h>

int main(void) {
  static long long ways[100001] = {1, 1};
  long long n;
  if (scanf("%lld", &n) != 1) return 1;
  if (n > 100000) return puts("0"), 0;
  for (int i = 2; i <= n; i++) ways[i] = (ways[i - 1] + ways[i - 2]) % 1000000007;
  printf("%lld\n", ways[n]);
  return 0;
}
