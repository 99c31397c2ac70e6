#include <math.h>
#include <stdio.h>

int main(void) {
  double d, s;
  if (scanf("%lf %lf", &d, &s) != 2) return 1;
  printf("%.10f\n", 2 * hypot(d / 2, s));
  return 0;
}
