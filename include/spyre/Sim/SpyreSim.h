/*===- SpyreSim.h - the simulated device, flat C interface --------------------------------------===
 *
 * An independent device: DDR (committed on touch), one LX per core, per-core units, a ring. It
 * executes device programs and nothing else. Every violation of the machine's contract is fatal for
 * the launch: the call fails and spyre_sim_last_error names a category, core, phase, instruction,
 * address and buffer. Results are the same bits for every number of host threads.
 *
 * Calls may come from any thread. Copies between host and DDR run beside each other (those of
 * overlapping ranges are the caller's to order); all other calls on one device wait for each other.
 * Errors are per thread.
 *===----------------------------------------------------------------------------------------===*/
#ifndef SPYRE_SIM_SPYRESIM_H
#define SPYRE_SIM_SPYRESIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spyre_sim spyre_sim;

/* What the schedule waited for in a cycle: the memory, the way between LX and a unit, the ring, a
   block of weights on its way into the matrix unit, work of the matrix unit, work of the vector
   unit, data under way (request to arrival), and what operations, barriers, bundles and launches
   cost by themselves. */
enum {
  SPYRE_SIM_STALL_DDR,
  SPYRE_SIM_STALL_LX,
  SPYRE_SIM_STALL_RING,
  SPYRE_SIM_STALL_PT_FILL,
  SPYRE_SIM_STALL_PT,
  SPYRE_SIM_STALL_SFP,
  SPYRE_SIM_STALL_LATENCY,
  SPYRE_SIM_STALL_OVERHEAD,
  SPYRE_SIM_STALLS
};

/* What the device counted since creation or the last reset; DDR counters are tensor bytes. A launch
   that fails adds nothing. */
typedef struct {
  uint64_t launches;
  uint64_t ddr_read_bytes, ddr_write_bytes;
  uint64_t lx_read_bytes, lx_write_bytes;
  uint64_t ring_bytes; /* delivered to a core by multicast or exchange */
  uint64_t program_bytes;
  uint64_t pt_macs; /* matmul points x 64 x 64 (8 bits: 128 x 64), masked lanes too */
  uint64_t
      sfp_lane_ops; /* lanes of Vector (but Copy), Accumulate and TopK sticks, masked included */
  uint64_t instructions; /* executed on all cores; loop control is not counted */
  uint64_t cycles;
  uint64_t nanoseconds;
  uint64_t sanitizer_checks;
  uint64_t stall_cycles[SPYRE_SIM_STALLS]; /* of the critical path; together they are cycles */
} spyre_sim_counters;

/* One phase of a program: an operation. */
typedef struct {
  uint32_t cores;
  uint64_t cycles;
  uint64_t stall_cycles[SPYRE_SIM_STALLS]; /* together they are cycles */
  uint64_t ddr_read_bytes, ddr_write_bytes, ring_bytes;
  uint64_t pt_macs, sfp_lane_ops;
  uint64_t pt_rows; /* that stream past a block of weights: 64 x 64 products (8 bits: 128 x 64) */
} spyre_sim_phase;

/* One mapped segment of a launch: virtual base = segment index << 34. bytes == 0: not mapped. */
typedef struct {
  uint64_t physical_base;
  uint64_t bytes;
} spyre_sim_segment;

typedef struct {
  const char *device_json; /* DeviceDesc as JSON */
  uint32_t threads;        /* host threads, 0 = one per host core */
  int sanitizer;           /* LX and DDR checks; tests never switch it off */
  int vf_mode;             /* the card is shared: LX is overwritten at random between launches */
  uint64_t wipe_seed;      /* of that random */
} spyre_sim_config;

/* Launch flag: the next launch belongs to the same bundle, LX is not wiped after this one. */
#define SPYRE_SIM_NON_TERMINAL 1u

/* NULL on failure; then error (may be NULL) receives a text that lives until the thread's next
 * call. */
spyre_sim *spyre_sim_create(const spyre_sim_config *config, const char **error);
void spyre_sim_destroy(spyre_sim *sim);

/* Physical DDR access; 0 on success. Reading DDR never written gives zeros. */
int spyre_sim_write(spyre_sim *sim, uint64_t address, const void *data, uint64_t bytes);
int spyre_sim_read(spyre_sim *sim, uint64_t address, void *data, uint64_t bytes);
/* Copies inside DDR, padding included; the ranges may not overlap. */
int spyre_sim_copy(spyre_sim *sim, uint64_t from, uint64_t to, uint64_t bytes);
/* Gives pages back to the host; contents become zero and "never written". */
int spyre_sim_discard(spyre_sim *sim, uint64_t address, uint64_t bytes);

/* The same for whole sticks of a tensor, with what is known of its padding: bit i of padding[s]
   says that bytes 2i and 2i+1 of stick s hold no data. padding NULL: all is data. Reading fails
   when the device has padding where the reader expects data. Without the sanitizer padding is
   ignored. */
int spyre_sim_write_sticks(spyre_sim *sim, uint64_t address, const void *data, uint64_t bytes,
                           const uint64_t *padding);
int spyre_sim_read_sticks(spyre_sim *sim, uint64_t address, void *data, uint64_t bytes,
                          const uint64_t *padding);
int spyre_sim_has_sanitizer(spyre_sim *sim);

/* Runs the program at virtual address program_address (in the last segment). The contents of LX
   count as never written, but for buffers that the program declares live-in. A program that was
   launched before and has the same bytes (but for symbol values) is not decoded again. 0 on
   success; on failure contents of DDR and LX are unspecified but the device stays usable. */
int spyre_sim_launch(spyre_sim *sim, uint64_t program_address, uint64_t program_bytes,
                     const spyre_sim_segment *segments, uint32_t segment_count, uint32_t flags);

/* "SPYRE-E7002: out-of-bounds: core 3 phase 0_add instruction 4 ..."; empty when the last call
   succeeded. */
const char *spyre_sim_last_error(spyre_sim *sim);
/* 1 when the thread's last call was a launch whose fault is contained: found before anything
   outside was touched, it damaged at most what the program writes in phases 0..*phase. phase may be
   NULL. */
int spyre_sim_is_contained(spyre_sim *sim, uint32_t *phase);
void spyre_sim_get_counters(spyre_sim *sim, spyre_sim_counters *counters);
void spyre_sim_reset_counters(spyre_sim *sim);
/* LX bytes of one core, for tests and debuggers; writing counts as data of an earlier launch. */
int spyre_sim_read_lx(spyre_sim *sim, uint32_t core, uint64_t address, void *data, uint64_t bytes);
int spyre_sim_write_lx(spyre_sim *sim, uint32_t core, uint64_t address, const void *data,
                       uint64_t bytes);

/* Launches without sanitizer in this process, over all devices: tests demand 0. */
uint64_t spyre_sim_unsanitized_launches(void);

/* One instruction on one unit of one core; cycles count from the start of the first traced launch.
 */
typedef struct {
  uint32_t launch, phase, instruction, core;
  uint32_t unit; /* 0 load, 1 store, 2 matrix, 3 vector, 4 ring */
  uint64_t start_cycle, end_cycle;
} spyre_sim_event;

/* Keeps the first max_events events from now on (0: none, forgets those kept). */
void spyre_sim_trace(spyre_sim *sim, uint64_t max_events);
/* Copies up to capacity events, sorted by launch, core, start; returns how many there are. */
uint64_t spyre_sim_get_trace(spyre_sim *sim, spyre_sim_event *events, uint64_t capacity);

/* The whole state but counters and trace: DDR, LX, what the sanitizer knows. NULL on failure. A
   snapshot may be restored any number of times, on devices with the same description. */
typedef struct spyre_sim_snapshot spyre_sim_snapshot;
spyre_sim_snapshot *spyre_sim_save(spyre_sim *sim);
int spyre_sim_restore(spyre_sim *sim, const spyre_sim_snapshot *snapshot);
void spyre_sim_snapshot_destroy(spyre_sim_snapshot *snapshot);

/* The time of a program without its data: no memory, no arithmetic, no sanitizer, the same cycles
   and counters (but sanitizer_checks) as a launch on an idle device. What only an execution finds
   (operands outside their buffers, indices) is not looked for. Not to be used by two threads at
   once. NULL or 1 on failure; then error (may be NULL) receives a text that lives until the
   thread's next call. */
typedef struct spyre_sim_timer spyre_sim_timer;
spyre_sim_timer *spyre_sim_timer_create(const void *program, uint64_t bytes, const char **error);
int spyre_sim_timer_run(spyre_sim_timer *timer, const char *device_json,
                        spyre_sim_counters *counters, const char **error);
/* Where the time goes, phase by phase: copies up to capacity phases of the program on that device,
   returns how many there are; 0 on failure. Launch and bundle are in none of them. */
uint64_t spyre_sim_timer_phases(spyre_sim_timer *timer, const char *device_json,
                                spyre_sim_phase *phases, uint64_t capacity, const char **error);
/* Name of a phase ("0_add"); NULL when there is none. Lives as long as the timer. */
const char *spyre_sim_timer_phase_name(spyre_sim_timer *timer, uint64_t phase);
void spyre_sim_timer_destroy(spyre_sim_timer *timer);

#ifdef __cplusplus
}
#endif
#endif
