// The inline style of the pages that the server writes itself. Their Content-Security-Policy names it by its hash. The colours are
// those of the console (console/src/style/tokens.css).
import { createHash } from 'node:crypto'
import { Html } from './html.ts'

const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --text-quiet: #57606a; --surface: #ffffff; --raised: #f6f8fa; --accent: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --text-quiet: #9da7b3; --surface: #0d1117; --raised: #161b22;
  --accent: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.55 system-ui, sans-serif; color: var(--text); background: var(--surface); }
main { max-width: 72ch; margin: 0 auto; padding: 48px 20px; }
h1 { margin: 0 0 12px; font-size: 28px; line-height: 1.2; }
p { color: var(--text-quiet); }
code { padding: 2px 4px; border-radius: 4px; background: var(--raised); color: var(--text); }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 2px; }
`

/** In one piece: one more space would change the hash. */
export const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`)
export const STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`
