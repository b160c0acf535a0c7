// Makes an image of the packed service on Debian, without a daemon and without another image, for the
// architecture of this machine: dist/farebox-VERSION-ARCH.oci.tar, after `npm run pack`. Needs root,
// mmdebstrap and buildah.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
const { version } = read('server/package.json');
const node = read('package-lock.json').packages['node_modules/node'].version;
const packed = path.join(root, 'dist', `farebox-${version}.tgz`);
/** How Debian and images call the architectures of npm. */
const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
/** The same commit and the same packages of Debian give the same root. */
const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root }).toString().trim();

/** As the Dockerfile has it, whose last lines say why. */
const settings = [
  ['user', '1000:1000'],
  ['workingdir', '/app'],
  ['env', 'NODE_ENV=production'],
  ['env', 'HOST=0.0.0.0'],
  ['env', 'PORT=8080'],
  ['env', 'FAREBOX_DATA_DIR=/data'],
  ['port', '8080'],
  ['volume', '/data'],
  [
    'entrypoint',
    '["node","--max-semi-space-size=16","--heap-growing-percent=100","server/bin/farebox.mjs"]',
  ],
  ['cmd', 'serve'],
].flatMap(([name, value]) => [`--${name}`, value]);

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'farebox-image-'));
try {
  console.log(make());
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}

function make() {
  const base = path.join(scratch, 'root.tar');
  debian(base);
  install();
  const image = path.join(root, 'dist', `farebox-${version}-${arch}.oci.tar`);
  const name = buildah(['from', '--arch', arch, 'scratch']).trim();
  try {
    buildah(['add', '--quiet', name, base, '/']);
    buildah(['copy', '--quiet', name, path.join(scratch, 'lib/node_modules/farebox'), '/app']);
    buildah(['copy', '--quiet', name, path.join(scratch, 'node'), '/usr/local/bin/node']);
    buildah(['config', ...settings, name]);
    const id = buildah(['commit', '--quiet', '--timestamp', epoch, name]).trim();
    fs.rmSync(image, { force: true });
    buildah(['push', '--quiet', id, `oci-archive:${image}:farebox:${version}`]);
    buildah(['rmi', id]);
  } finally {
    buildah(['rm', name]);
  }
  return `${(fs.statSync(image).size / 1e6).toFixed(0)} MB  ${path.relative(root, image)}`;
}

/** The essential packages of Debian 12 and what Node needs, without their pages. */
function debian(to) {
  const unread = ['doc', 'man', 'locale', 'info'].map(
    (name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`,
  );
  const hooks = [
    'echo node:x:1000:1000::/data:/usr/sbin/nologin >> "$1/etc/passwd"',
    'echo node:x:1000: >> "$1/etc/group"',
    'mkdir -m 700 "$1/data" "$1/backups" && chown 1000:1000 "$1/data" "$1/backups"',
  ].map((line) => `--customize-hook=${line}`);
  const include = '--include=ca-certificates,libatomic1,libstdc++6,tzdata';
  const options = ['--quiet', '--variant=essential', `--architectures=${arch}`, include];
  run('mmdebstrap', [...options, ...unread, ...hooks, 'bookworm', to]);
}

/** The packed service with the packages of the platform, and Node as npm has it. */
function install() {
  const platform = ['--os=linux', `--cpu=${process.arch}`, '--libc=glibc'];
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--force'];
  const into = (...more) => run('npm', ['install', ...more, ...platform, ...quiet]);
  into('--global', '--prefer-offline', '--prefix', scratch, packed);
  const binary = `node-linux-${process.arch}`;
  into(
    '--no-save',
    '--prefer-offline',
    '--prefix',
    path.join(scratch, 'from'),
    `${binary}@${node}`,
  );
  fs.renameSync(
    path.join(scratch, 'from/node_modules', binary, 'bin/node'),
    path.join(scratch, 'node'),
  );
}

function buildah(args) {
  return run('buildah', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function run(program, args, options = {}) {
  const env = { ...process.env, SOURCE_DATE_EPOCH: epoch };
  return execFileSync(program, args, { cwd: root, stdio: 'inherit', env, ...options });
}
