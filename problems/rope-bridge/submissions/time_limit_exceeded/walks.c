#include <math.h>
#include <stdio.h>

/* Walks along the rope, and never stops. */
int main(void) {
  double d, s, walked = 0;
  if (scanf("%lf %lf", &d, &s) != 2) return 1;
  while (walked >= 0) walked += 1e-9;
  printf("%.10f\n", walked);
  return 0;
}
