use super::*;

const BOUNDS: CommandBounds = CommandBounds {
    tasks_by_kernel: true,
    memory: 1 << 30,
    processes: 50,
    tasks: 100,
    written: 1 << 30,
    memory_reserve: 256 << 20,
    disk_reserve: 1 << 30,
    files_reserve: 10_000,
};

const PLENTY: FreeResources = FreeResources {
    memory: 8 << 30,
    disk: 80 << 30,
    files: 1 << 20,
};

fn crossed_by(usage: ResourceUsage, left: FreeResources) -> Option<Limit> {
    let crossed = crossed_by_tree(&BOUNDS, &usage).or_else(|| crossed_by_machine(&BOUNDS, PLENTY, left));
    crossed.map(|exceeded| exceeded.limit)
}

#[test]
fn each_exceeded_limit_is_reported_by_name() {
    let none = ResourceUsage::default();
    assert_eq!(crossed_by(none, PLENTY), None);
    let tasks = ResourceUsage { tasks: 101, ..none };
    let processes = ResourceUsage {
        processes: 51,
        ..none
    };
    let memory = ResourceUsage {
        memory_bytes: BOUNDS.memory + 1,
        ..none
    };
    let written = ResourceUsage {
        written_bytes: BOUNDS.written + 1,
        ..none
    };
    assert_eq!(crossed_by(tasks, PLENTY), Some(Limit::Threads));
    assert_eq!(crossed_by(processes, PLENTY), Some(Limit::Processes));
    assert_eq!(crossed_by(memory, PLENTY), Some(Limit::Memory));
    assert_eq!(crossed_by(written, PLENTY), Some(Limit::Written));
    let disk = FreeResources {
        disk: BOUNDS.disk_reserve - 1,
        ..PLENTY
    };
    assert_eq!(crossed_by(none, disk), Some(Limit::FreeSpace));
    let files = FreeResources {
        files: BOUNDS.files_reserve - 1,
        ..PLENTY
    };
    assert_eq!(crossed_by(none, files), Some(Limit::FreeFiles));
    let machine = FreeResources { memory: 1, ..PLENTY };
    assert_eq!(crossed_by(none, machine), Some(Limit::MachineMemory));
}

#[test]
fn a_full_disk_does_not_end_commands_that_write_nothing() {
    let full = FreeResources {
        disk: 4 << 20,
        ..PLENTY
    };
    assert_eq!(crossed_by_machine(&BOUNDS, full, full), None);
    let fuller = FreeResources {
        disk: 2 << 20,
        ..PLENTY
    };
    assert!(crossed_by_machine(&BOUNDS, full, fuller).is_some());
}

#[test]
fn checks_come_faster_the_less_room_is_left() {
    assert_eq!(next_look(&BOUNDS, PLENTY), POLL_MAX);
    let near = FreeResources {
        disk: BOUNDS.disk_reserve + 40 * BYTES_PER_MS,
        ..PLENTY
    };
    assert_eq!(next_look(&BOUNDS, near), Duration::from_millis(40));
    let there = FreeResources {
        disk: BOUNDS.disk_reserve,
        ..PLENTY
    };
    assert_eq!(next_look(&BOUNDS, there), POLL_MIN);
}

#[test]
fn walks_come_faster_where_the_kernel_does_not_limit_processes() {
    let none = ResourceUsage::default();
    let many = ResourceUsage {
        tasks: BOUNDS.tasks,
        ..none
    };
    let unbounded = CommandBounds {
        tasks_by_kernel: false,
        ..BOUNDS
    };
    assert_eq!(next_walk(&BOUNDS, &none), POLL_MAX);
    assert!(next_walk(&unbounded, &none) < next_walk(&BOUNDS, &none));
    assert_eq!(next_walk(&unbounded, &many), WALK_MIN);
}

#[test]
fn a_command_starts_only_with_enough_free_disk_space() {
    assert!(
        needed_to_begin(64 << 20) > 64 << 20,
        "a disk this small is never enough"
    );
    assert_eq!(needed_to_begin(256 << 20), (64 << 20) + HEADROOM_BYTES);
    assert_eq!(needed_to_begin(1 << 40), (64 << 20) + HEADROOM_BYTES);
}

#[test]
fn a_disk_of_any_size_keeps_a_reserve() {
    assert_eq!(disk_reserve(64 << 20), 16 << 20);
    assert_eq!(disk_reserve(1 << 30), DISK_RESERVE_MIN);
    assert_eq!(disk_reserve(10 << 30), (10 << 30) / 50);
    assert_eq!(disk_reserve(1 << 40), DISK_RESERVE_MAX);
}
