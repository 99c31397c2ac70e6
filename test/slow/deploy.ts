// What lies in deploy/ is read by the programs that would run it: systemd-analyze, nginx -t, caddy validate, docker compose config, and
// dockerfilelint from npm. One that is not installed is named, and is no failure. The image is built and run (image.ts).
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runImage, whyNoImage } from './image.ts'

/** Of systemd's scale, 0 to 10: what the sandbox of the judge leaves. */
const EXPOSURE_MAX = '4.0'
const DOCKERFILE = resolve('deploy/docker/Dockerfile')

interface Linter {
  program: string
  check(folder: string): boolean
}

const LINTERS: readonly Linter[] = [
  { program: 'systemd-analyze', check: checkUnits },
  { program: 'nginx', check: checkNginx },
  {
    program: 'caddy',
    check: () => ran('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'deploy/proxy/Caddyfile']),
  },
  { program: 'docker-compose', check: () => ran('docker-compose', ['--profile', 'reeve', 'config', '--quiet']) },
  {
    program: 'npx',
    check: (folder) => ran('npx', ['--yes', 'dockerfilelint@1.8.0', DOCKERFILE], folder),
  },
]

export async function lintDeployment(): Promise<boolean> {
  const whyNot = whyNoImage()
  if (whyNot === null) await runImage()
  console.log(whyNot === null ? '✔ the image, built and run' : `﹣ the image is not built: ${whyNot}`)
  const folder = mkdtempSync(join(tmpdir(), 'reeve-deploy-'))
  try {
    return LINTERS.map(({ program, check }) => {
      if (spawnSync('which', [program]).status !== 0) {
        console.log(`﹣ ${program} is not installed`)
        return true
      }
      const ok = check(folder)
      console.log(`${ok ? '✔' : '✖'} ${program}`)
      return ok
    }).every(Boolean)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** With the programs of this machine, since a unit whose program is missing is refused. */
function checkUnits(folder: string): boolean {
  const units = join(folder, 'units')
  mkdirSync(units)
  for (const name of readdirSync('deploy/systemd').filter((file) => file.includes('.'))) {
    const text = readFileSync(join('deploy/systemd', name), 'utf8')
    writeFileSync(join(units, name), text.replaceAll('/usr/bin/node', process.execPath))
  }
  const services = readdirSync(units).map((name) => join(units, name))
  const exposure = ['security', '--offline=true', `--threshold=${Number(EXPOSURE_MAX) * 10}`]
  return (
    ran('systemd-analyze', ['verify', ...services]) &&
    ran('systemd-analyze', [...exposure, join(units, 'reeve.service')])
  )
}

/** With a certificate made for it, and everything that nginx writes in the folder. */
function checkNginx(folder: string): boolean {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=reeve.example.org']
  if (!ran('openssl', [...made, '-keyout', key, '-out', certificate])) return false
  const site = readFileSync('deploy/proxy/nginx.conf', 'utf8')
    .replace(/\/etc\/letsencrypt\S+fullchain\.pem/, certificate)
    .replace(/\/etc\/letsencrypt\S+privkey\.pem/, key)
  writeFileSync(join(folder, 'site.conf'), site)
  cpSync('/etc/nginx/mime.types', join(folder, 'mime.types'))
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/pid; events {} http { access_log off; ${paths} include site.conf; }`,
  )
  return ran('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')])
}

function ran(program: string, options: readonly string[], cwd = process.cwd()): boolean {
  const { status, stdout, stderr } = spawnSync(program, options, { encoding: 'utf8', cwd })
  if (status !== 0) console.log(`${program} ${options.join(' ')}\n${stdout}${stderr}`)
  return status === 0
}
