// The inline style of the start page. Its Content-Security-Policy names it by its hash.

export const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --paper: #ffffff; --card: #f6f8fa;
  --link: #0550ae; --open: #116329; --open-bg: #dafbe1; --closed: #57606a; --closed-bg: #eaeef2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --line: #30363d; --paper: #0d1117;
  --card: #161b22; --link: #79c0ff; --open: #7ee787; --open-bg: #12351f; --closed: #adb7c2; --closed-bg: #262c34; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
main, footer { max-width: 54rem; margin: 0 auto; padding: 0 1.25rem; }
header { max-width: 54rem; margin: 0 auto; padding: 3rem 1.25rem 1rem; }
h1 { margin: 0; font-size: 2.25rem; letter-spacing: -0.02em; line-height: 1.2; }
h2 { margin: 2.25rem 0 0.75rem; font-size: 1.1rem; }
header p { margin: 0.5rem 0 0; font-size: 1.1rem; color: var(--soft); max-width: 46rem; }
a { color: var(--link); text-underline-offset: 0.2em; }
a:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; border-radius: 2px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 1.5rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
ul.doors { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.75rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
ul.doors li { padding: 0.9rem 1rem; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); }
ul.doors p { margin: 0.4rem 0 0; color: var(--soft); font-size: 0.95rem; }
.name { font-weight: 600; } .row { display: flex; justify-content: space-between; align-items: center; gap: 0.75rem; }
.state { font-size: 0.8rem; padding: 0.1rem 0.6rem; border-radius: 1rem; white-space: nowrap;
  color: var(--closed); background: var(--closed-bg); }
.state.open { color: var(--open); background: var(--open-bg); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.4rem 0.5rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; } thead th { color: var(--soft); font-weight: 500; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.4rem 1.5rem; margin: 0; padding: 0; list-style: none; }
footer { margin-top: 3rem; padding-bottom: 2rem; color: var(--soft); font-size: 0.9rem; }
`
