import { testRefused } from "./task-cases.ts";

testRefused("file mounts and storage", [
  ["file_mounts: [a]", "line 1, column 1: file_mounts: must be a mapping of names to values"],
  [
    "file_mounts: {/a: ''}",
    'line 1, column 15: file_mounts["/a"]: must be a path, the address of a bucket, or a mapping',
  ],
  [
    "file_mounts: {/a: 5}",
    'line 1, column 15: file_mounts["/a"]: must be a path, the address of a bucket, or a mapping',
  ],
  [
    "file_mounts: {/a: ./b/}",
    'line 1, column 15: file_mounts["/a"]: must be a source that does not end with a slash',
  ],
  [
    "file_mounts: {s3://a: ./b}",
    'line 1, column 15: file_mounts["s3://a"]: must go to a path on the node; the bucket belongs to the right',
  ],
  [
    "file_mounts: {/a: ftp://b}",
    'line 1, column 15: file_mounts["/a"]: has the unknown scheme `ftp://`; expected one of s3, gs, https, r2, cos, oci, nebius, cw, vastdata, hf',
  ],
  [
    "workdir: .\nfile_mounts: {~/sky_workdir: ./b}",
    'line 2, column 15: file_mounts["~/sky_workdir"]: is where `workdir` goes; use one of them, or another path',
  ],
  [
    "workdir: {url: 'ssh://git:pw@h/a'}",
    "line 1, column 11: workdir.url: must not have a password, which ssh does not use; pass the key as the secret GIT_SSH_KEY",
  ],
  ["file_mounts: {/a: {}}", 'line 1, column 15: file_mounts["/a"]: needs a `name` or a `source`'],
  [
    "file_mounts: {/a: {source: ./b}}",
    'line 1, column 15: file_mounts["/a"]: needs `name`, the bucket that the local source goes to',
  ],
  [
    "file_mounts: {/a: {name: bkt, source: s3://b}}",
    'line 1, column 20: file_mounts["/a"].name: cannot be combined with a source that is a bucket; leave it out',
  ],
  [
    "file_mounts: {/a: {name: s3://b}}",
    'line 1, column 20: file_mounts["/a"].name: must be the bare name of a bucket, without a scheme',
  ],
  [
    "file_mounts: {/a: {name: B}}",
    'line 1, column 20: file_mounts["/a"].name: must be 3 to 63 lower-case letters, digits, `.`, `_` or `-`, a letter or digit at both ends',
  ],
  [
    "file_mounts: {/a: {source: []}}",
    'line 1, column 20: file_mounts["/a"].source: must not be empty',
  ],
  [
    "file_mounts: {/a: {name: bkt, source: [a/x, b/x]}}",
    'line 1, column 45: file_mounts["/a"].source[1]: has the same last part as an entry above; one would hide the other',
  ],
  [
    "file_mounts: {/a: {name: bkt, source: [s3://x]}}",
    'line 1, column 20: file_mounts["/a"].name: cannot be combined with a source that is a bucket; leave it out',
    'line 1, column 40: file_mounts["/a"].source[0]: must be a local path; a bucket cannot be in a list',
  ],
  [
    "file_mounts: {/a: {source: ftp://b}}",
    'line 1, column 15: file_mounts["/a"]: needs `name`, the bucket that the local source goes to',
    'line 1, column 20: file_mounts["/a"].source: has the unknown scheme `ftp://`',
  ],
  [
    "file_mounts: {/a: {source: s3://b/c}}",
    'line 1, column 20: file_mounts["/a"].source: must be a whole bucket, not something in it; or use `mode: COPY`',
  ],
  [
    "file_mounts: {/a: {source: 'https://acc.blob.core.windows.net/con/x', mode: MOUNT_CACHED}}",
    'line 1, column 20: file_mounts["/a"].source: must be a whole bucket, not something in it; or use `mode: COPY`',
  ],
  [
    "file_mounts: {/a: {name: bkt, store: DROPBOX, persistent: 1, mode: LINK}}",
    'line 1, column 31: file_mounts["/a"].store: must be one of S3, GCS, AZURE, R2, IBM, OCI, NEBIUS, COREWEAVE, VASTDATA, VOLUME',
    'line 1, column 47: file_mounts["/a"].persistent: must be true or false',
    'line 1, column 62: file_mounts["/a"].mode: must be one of MOUNT, COPY, MOUNT_CACHED',
  ],
  [
    "file_mounts: {/a: {name: bkt, type: DATASET_RO}}",
    'line 1, column 31: file_mounts["/a"].type: needs `mode: MOUNT_CACHED`',
  ],
  [
    "file_mounts: {/a: {name: bkt, mode: MOUNT_CACHED, type: DATASET}}",
    'line 1, column 51: file_mounts["/a"].type: must be one of MODEL_CHECKPOINT_RO, MODEL_CHECKPOINT_RW, DATASET_RO, DATASET_RW',
  ],
  [
    "file_mounts: {/a: {name: bkt, mode: COPY, config: {mount: {read_only: true}, mount_cached: {transfers: 0}}}}",
    'line 1, column 52: file_mounts["/a"].config.mount: needs `mode: MOUNT`',
    'line 1, column 78: file_mounts["/a"].config.mount_cached: needs `mode: MOUNT_CACHED`',
    'line 1, column 93: file_mounts["/a"].config.mount_cached.transfers: must be a whole number of at least 1',
  ],
  [
    "file_mounts: {/a: {name: bkt, mode: MOUNT_CACHED, config: {mount_cached: {buffer_size: big, vfs_write_back: 5, vfs_cache_max_age: soon, vfs_read_chunk_streams: -1}}}}",
    'line 1, column 75: file_mounts["/a"].config.mount_cached.buffer_size: must be a size with a unit letter: 512M or 10G',
    'line 1, column 93: file_mounts["/a"].config.mount_cached.vfs_write_back: must be text; write it in quotes: "5"',
    'line 1, column 112: file_mounts["/a"].config.mount_cached.vfs_cache_max_age: must be a duration with units: 30s or 1h30m',
    'line 1, column 137: file_mounts["/a"].config.mount_cached.vfs_read_chunk_streams: must be a whole number of at least 0',
  ],
]);

testRefused("volumes", [
  ["volumes: [a]", "line 1, column 1: volumes: must be a mapping of names to values"],
  ["volumes: {/a: ''}", 'line 1, column 11: volumes["/a"]: must not be empty'],
  [
    "volumes: {/a: {}}",
    'line 1, column 11: volumes["/a"]: needs `name` of a volume, or `size` of one to make',
  ],
  [
    "volumes: {/a: {name: v, size: 10}}",
    'line 1, column 11: volumes["/a"]: cannot have both `name` and `size`: a volume exists, or is made',
  ],
  [
    "volumes: {/a: {name: v, sub_path: ../x}}",
    'line 1, column 25: volumes["/a"].sub_path: must be a relative path of letters, digits, `.`, `_`, `-` and `/`, without `..`',
  ],
  [
    "volumes: {/a: {size: 0}}",
    'line 1, column 16: volumes["/a"].size: must be a positive size of a disk: 100, "100GB" or "1TB"',
  ],
  [
    "volumes: {/a: {host_path: data, mode: x, name: v}}",
    'line 1, column 16: volumes["/a"].host_path: must be an absolute path on the host, and not `/`',
    'line 1, column 33: volumes["/a"].mode: must be one of ro, rw',
    'line 1, column 42: volumes["/a"].name: unknown field `name`; expected one of host_path, mode',
  ],
  [
    "volumes: {/a: {size: 10, sub_path: x, type: nfs}}",
    'line 1, column 26: volumes["/a"].sub_path: goes only with `name`',
    'line 1, column 39: volumes["/a"].type: must be k8s-pvc',
  ],
  [
    "volumes: {/a: {size: 10, config: {access: x}}}",
    'line 1, column 35: volumes["/a"].config.access: unknown field `access`; did you mean `access_mode`?',
  ],
  [
    "volumes: {/a: v, /a/: w}",
    'line 1, column 18: volumes["/a/"]: is already the path of another volume',
  ],
  [
    "volumes: {/a: v, /b: v}",
    'line 1, column 18: volumes["/b"]: mounts a volume that is already mounted',
  ],
]);
