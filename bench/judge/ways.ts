// What is submitted: programs that double a number, in several languages, compiled before or each time.
import { compilerFloor, interpreterFloor, type Floor, type FloorField } from './floors.ts'

export const TESTS = 10

export interface Way {
  name: string
  language: string
  /** The source of the n-th submission: another one each time is compiled each time. */
  source(n: number): string
  /** The way of the same program, compiled before: what a submission takes longer is what compiling takes in the judge. */
  compiledBefore?: string
  /** What it is compared with: what it cannot do without. */
  floor?: (field: FloorField, source: Way['source']) => Promise<Floor>
}

const C = '#include <stdio.h>\nint main(void) { long n; scanf("%ld", &n); printf("%ld\\n", 2 * n); }\n'
const CPP = '#include <bits/stdc++.h>\nint main() { long n; std::cin >> n; std::cout << 2 * n << "\\n"; }\n'

export const C_BEFORE = 'C, compiled before'
export const C_EACH = 'C, compiled each time'
export const CPP_EACH = 'C++ with bits/stdc++.h, compiled each time'
export const PYTHON = 'Python, checked before'

export const WAYS: readonly Way[] = [
  { name: C_BEFORE, language: 'c', source: () => C },
  {
    name: C_EACH,
    language: 'c',
    source: (n) => `${C}// ${n}\n`,
    compiledBefore: C_BEFORE,
    floor: (field, source) => compilerFloor(field, 'c', source),
  },
  {
    name: CPP_EACH,
    language: 'cpp',
    source: (n) => `${CPP}// ${n}\n`,
    floor: (field, source) => compilerFloor(field, 'cpp', source),
  },
  {
    name: PYTHON,
    language: 'python3',
    source: () => 'print(2 * int(input()))\n',
    floor: (field) => interpreterFloor(field, 'python3', { args: ['-c', 'pass'], times: TESTS }),
  },
]
