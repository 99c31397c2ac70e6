#include <math.h>
#include <stdio.h>

int main(void) {
  double d, s;
  if (scanf("%lf %lf", &d, &s) != 2) return 1;
  printf("%.10f\n", hypot(d, s));
  return 0;
}
