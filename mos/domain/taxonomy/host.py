"""Our own machine: disk, memory, files in use, processes killed."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="host.disk_full",
        cause=Cause.DISK_FULL,
        rank=Rank.CAUSE,
        phrases="""
            no ..1 space ..1 left; not enough ..2 space ..4 disk|disc|drive|volume|device|storage; not enough
            free|disk|disc|storage|scratch space; insufficient ..1 disk|disc|storage|scratch space;
            disk|disc|drive|volume|filesystem|partition|device is ..2 full; disk|disc|filesystem full;
            disk|disc|storage quota ..2 exceed*|reached; user|block quota exceeded; out of disk|disc|storage ..1
            space; run|ran|running out of ..2 disk|disc|space; low disk|disc space; low on ..1 disk|space|storage;
            maskedpath ..3 100 capacity|full|used; disk|disc space ..4 low|exhausted|insufficient|full; not enough
            room on ..2 disk|device|volume; free up ..3 disk|space; no free space; disk cache ..3 full; exceed* ..4
            ephemeral local storage; ephemeral storage ..6 exceed*|exceeds; low on resource ephemeral storage; write
            failed ..3 disk full; insufficient free space; insufficient space; no usable temporary directory; espace
            insuffisant; espace disque insuffisant; nicht genügend speicherplatz; kein speicherplatz; nicht genug
            speicherplatz; espacio ..2 insuficiente; no hay ..2 espacio; espaço insuficiente; espace disque; spazio
            ..3 insufficiente; za mało miejsca; datenträger ..2 voll; onvoldoende schijfruimte; yeterli alan yok;
            diskte yeterli; não há espaço; plus d espace; spazio su disco
        """,
        native="""
            磁盘空间不足; 磁盘已满; 硬盘空间不足; 設備上沒有空間; 设备上没有空间; 空间不足; 空間不足;
            ディスクに十分な空き領域; 空き領域がありません; 空き容量が不足; 디스크 공간이 부족; 공간이
            부족; недостаточно места; нет места на; нет свободного
            места; недостатньо місця; 不足的磁盘空间; デバイスに空き領域
        """,
    ),
    Rule(
        name="host.memory",
        cause=Cause.HOST_MEMORY,
        rank=Rank.CAUSE,
        phrases="""
            out of memory; outofmemory; oom killed|killer|kill|error; oom when allocating; oom; not enough ..3 memory;
            insufficient ..3 memory|ram|vram; <cannot> ..2 allocate ..5 memory|ram; <cannot> ..2 allocate ..4
            tensor|bytes|gib|mib|gb|mb|kb|ram|vram|gpu|buffer requested; alloc* ..2 failed ..3 memory; memory
            allocation fail*; bad alloc; heap limit; heap out of memory; java heap space; gc overhead limit exceeded;
            low on memory; out of ram|vram; ran|run|running out of ..2 memory|ram; paging file ..3 too small; memory
            limit exceed*|reached; exceed* ..4 memory ..1 limit|limits; exceed* ..3 available|allowed memory|ram;
            memory ..4 exhausted; exhausted ..3 memory; allowed memory size ..5 exhausted; too little memory; not
            enough storage is available to process; insufficient system resources; insufficient virtual memory; no
            memory available; memoryerror; max rss exceeded; need* more memory|ram; nicht genügend arbeitsspeicher;
            mémoire insuffisante; memoria insuficiente; memória insuficiente; killed process ..6 total vm; reached ..2
            memory limit; memory usage ..6 exceed*|above|over; memory high watermark; warm shutdown ..4 memory; memory
            cgroup; crashed ..3 out of memory; install* more ram; lack of memory; memory pressure
        """,
        unless="""
            context window; memory leak detected; possible eventemitter memory leak
        """,
        native="""
            内存不足; 記憶體不足; 显存不足; メモリ不足; メモリが不足; 메모리가 부족;
            недостаточно памяти; не хватает памяти
        """,
    ),
    Rule(
        name="host.killed",
        cause=Cause.HOST_MEMORY,
        rank=Rank.CAUSE,
        phrases="""
            signal 9|sigkill; was killed by ..3 kernel|oom|signal; killed by signal; exit* ..4 status|code 137;
            sigkill; terminated unexpectedly waitpid; process ..4 was killed; waitpid returned 9; killed 9; container
            ..2 killed
        """,
        unless="""
            idle timeout; killed by user; cancelled by user; canceled by user
        """,
    ),
    Rule(
        name="host.fault",
        cause=Cause.HOST_FAULT,
        rank=Rank.CAUSE,
        phrases="""
            resource busy or locked; <cannot> create ..2 file|directory|folder; write permissions|permission; <cannot>
            write ..2 to ..3 disk|directory|folder|maskedpath|maskedmedia; device or resource busy; used by another
            process; being used by another; file|folder|directory is ..1 in use; file is locked ..2 by
            another|process; too many open files; read only file system; another instance of ..2
            aerender|after|ae|aftereffects; input output error; i o error; i o device error; resource temporarily
            unavailable; sharing violation; file descriptor* ..3 limit|exhausted|exceed*; <cannot> start new thread;
            pthread create failed; fork ..4 resource; cannot fork; no child processes; operation not permitted ..5
            unlink|rmdir|rename|rm|maskedpath; text file busy; structure needs cleaning; stale file handle; stale nfs
            file handle; gpu has fallen off the bus; no cuda gpus are available; cuda driver version is insufficient;
            device side assert ..6 hardware; ecc error; uncorrectable ecc; driver library version mismatch; <cannot>
            communicate with the nvidia driver; nvml ..6 driver; no space ..3 inode*; disk i o; hardware error; data
            error cyclic redundancy check; cyclic redundancy check; directory is not empty ..4 maskedpath; directory
            not empty; the device is not ready; kernel panic; spot ..3 interruption|interrupted|terminat*|reclaim*;
            instance ..3 terminat*|preempted|reclaim*; host ec2 ..4 terminated; node ..2 preempted; node was low on
            resource; cannot pull container; failed to pull image; error pulling image; license ..3 server ..4
            not|unavailable|unreachable; unable to obtain a license; after effects error ..8 forcibly closed; aerender
            ..10 forcibly closed; resource:memory; enough cpu|memory units available
        """,
    ),
    Rule(
        name="host.render_process",
        cause=Cause.HOST_FAULT,
        rank=Rank.TEXT,
        phrases="""
            no update from aerender; aerender ..3 not responding; after effects ..4 not
            responding|hung|hang|crash*|quit unexpectedly; aerender ..3 crash*|hung|killed|terminated; access
            violation; segmentation fault; core dumped; sigsegv|sigbus|sigabrt; gpu ..4 reset|lost|hung|removed;
            device removed; tdr; lost connection ..2 after effects; after effects ..3 already running; bus error;
            stack smashing; afterfx ..3 stopped working; unable to connect to after effects; aerender ..6 timed out;
            render* ..4 stalled|hung; worker ran out of; <cannot> ..1 launch|start|open|run ..1 after
            effects|aerender; after effects ..3 <not> start|launch|respond
        """,
    ),
)
