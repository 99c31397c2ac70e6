// `npm run dev`: the server from source, started again at every change, and the console with hot reload, which asks the server.
import { spawn } from 'node:child_process'

const programs = [
  ['tsx', ['watch', 'src/cli/main.ts', 'up']],
  ['npm', ['run', 'dev', '--silent', '--workspace', '@reeve/console']],
]
const children = programs.map(([command, args]) => spawn(command, args, { stdio: 'inherit' }))

const stop = () => children.forEach((child) => child.kill('SIGTERM'))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop)
for (const child of children) {
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
    stop()
  })
}
