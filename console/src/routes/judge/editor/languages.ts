// The editor's knowledge of each language, loaded when it is chosen; and what an empty editor begins with.
import type { Extension } from '@codemirror/state'

export async function languageFor(id: string): Promise<Extension> {
  switch (id) {
    case 'c':
    case 'cpp':
      return (await import('@codemirror/lang-cpp')).cpp()
    case 'python3':
      return (await import('@codemirror/lang-python')).python()
    case 'javascript':
      return (await import('@codemirror/lang-javascript')).javascript()
    case 'java':
      return (await import('@codemirror/lang-java')).java()
    case 'rust':
      return (await import('@codemirror/lang-rust')).rust()
    default:
      return []
  }
}

const BEGINNINGS: Readonly<Record<string, string>> = {
  c: '#include <stdio.h>\n\nint main(void) {\n    return 0;\n}\n',
  cpp: '#include <bits/stdc++.h>\nusing namespace std;\n\nint main() {\n    return 0;\n}\n',
  python3: '',
  javascript: "const lines = require('fs').readFileSync(0, 'utf8').split('\\n')\n",
  java: 'import java.util.*;\n\npublic class Main {\n    public static void main(String[] args) {\n        Scanner in = new Scanner(System.in);\n    }\n}\n',
  rust: 'use std::io::*;\n\nfn main() {\n    let mut input = String::new();\n    stdin().read_to_string(&mut input).unwrap();\n}\n',
}

export const beginningOf = (language: string): string => BEGINNINGS[language] ?? ''
