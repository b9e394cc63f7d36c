# The configuration of a container for an OCI runtime, as an engine makes it from a published profile: the input is the
# profile in the form of Docker and Podman. Arguments: $root, the directory of the image; $command, an array of one, which
# has the words; $capabilities, those that the engine leaves; $restricted, whether Kubernetes' standard "restricted"
# holds; $machine, as Docker names it.

def applies:
    (.includes // {}) as $with | (.excludes // {}) as $without |
    (($with.caps // []) - $capabilities == []) and
    ($with.arches == null or ($with.arches | index($machine))) and
    (($without.caps // []) - $capabilities == ($without.caps // [])) and
    (($without.arches // []) | index($machine) | not);

def filter: {
    defaultAction,
    architectures: [.archMap[] | select(.architecture == "SCMP_ARCH_" + ({amd64: "X86_64", arm64: "AARCH64"}[$machine])) |
        .architecture, .subArchitectures[]],
    syscalls: [.syscalls[] | select(applies) |
        {names, action} + (if .args | length > 0 then {args} else {} end) +
        (if .errnoRet then {errnoRet} else {} end)]
} + (if .defaultErrnoRet then {defaultErrnoRet} else {} end);

def kernel($type; $source; $at; $options): {destination: $at, type: $type, $source, $options};

{
    ociVersion: "1.0.2",
    root: {path: $root, readonly: true},
    process: {
        terminal: false,
        user: {uid: 65532, gid: 65532},
        args: $command[0],
        env: ["HOME=/tmp"],
        cwd: "/tmp",
        # Of a user who is not root, no set but this one has any.
        capabilities: {bounding: $capabilities, effective: [], permitted: [], inheritable: [], ambient: []},
        noNewPrivileges: $restricted
    },
    mounts: [
        kernel("proc"; "proc"; "/proc"; []),
        kernel("tmpfs"; "tmpfs"; "/dev"; ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        kernel("devpts"; "devpts"; "/dev/pts"; ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]),
        kernel("tmpfs"; "shm"; "/dev/shm"; ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
        kernel("mqueue"; "mqueue"; "/dev/mqueue"; ["nosuid", "noexec", "nodev"]),
        kernel("sysfs"; "sysfs"; "/sys"; ["nosuid", "noexec", "nodev", "ro"]),
        kernel("cgroup"; "cgroup"; "/sys/fs/cgroup"; ["nosuid", "noexec", "nodev", "relatime", "ro"]),
        kernel("tmpfs"; "tmpfs"; "/tmp"; ["nosuid", "nodev", "mode=1777"])
    ],
    linux: {
        namespaces: [("pid", "network", "ipc", "uts", "mount", "cgroup") | {type: .}],
        maskedPaths: ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
            "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
        readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        seccomp: filter
    }
}
