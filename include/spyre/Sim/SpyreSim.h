/*===- SpyreSim.h - the simulated device, flat C interface --------------------------------------===
 *
 * An independent device: DDR (committed on touch), one LX per core, per-core units. It executes
 * device programs and nothing else. Every violation of the machine's contract is fatal for the
 * launch: the call fails and spyre_sim_last_error names a category, core, phase, instruction and
 * address. Results are the same bits for every number of host threads.
 *
 * Calls may come from any thread; those on one device wait for each other. Errors are per thread.
 *===----------------------------------------------------------------------------------------===*/
#ifndef SPYRE_SIM_SPYRESIM_H
#define SPYRE_SIM_SPYRESIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spyre_sim spyre_sim;

/* What the device counted since creation or the last reset; DDR counters are tensor bytes. A launch
   that fails adds nothing. */
typedef struct {
  uint64_t launches;
  uint64_t ddr_read_bytes, ddr_write_bytes;
  uint64_t lx_read_bytes, lx_write_bytes;
  uint64_t ring_bytes;
  uint64_t program_bytes;
  uint64_t pt_macs;      /* matmul points x 64 x 64: whole sticks, masked lanes included */
  uint64_t sfp_lane_ops; /* lanes of Vector (but Copy) and Accumulate sticks, masked included */
  uint64_t instructions; /* executed on all cores; loop control is not counted */
  uint64_t cycles;
  uint64_t nanoseconds;
  uint64_t sanitizer_checks;
} spyre_sim_counters;

/* One mapped segment of a launch: virtual base = segment index << 34. bytes == 0: not mapped. */
typedef struct {
  uint64_t physical_base;
  uint64_t bytes;
} spyre_sim_segment;

typedef struct {
  const char *device_json; /* DeviceDesc as JSON */
  uint32_t threads;        /* host threads, 0 = one per host core */
  int sanitizer;           /* LX and DDR checks; tests never switch it off */
} spyre_sim_config;

/* NULL on failure; then error (may be NULL) receives a text that lives until the thread's next
 * call. */
spyre_sim *spyre_sim_create(const spyre_sim_config *config, const char **error);
void spyre_sim_destroy(spyre_sim *sim);

/* Physical DDR access; 0 on success. Reading DDR never written gives zeros. */
int spyre_sim_write(spyre_sim *sim, uint64_t address, const void *data, uint64_t bytes);
int spyre_sim_read(spyre_sim *sim, uint64_t address, void *data, uint64_t bytes);
/* Gives pages back to the host; contents become zero and "never written". */
int spyre_sim_discard(spyre_sim *sim, uint64_t address, uint64_t bytes);

/* Runs the program at virtual address program_address (in the last segment). LX starts "never
   written". 0 on success; on failure DDR contents are unspecified but the device stays usable. */
int spyre_sim_launch(spyre_sim *sim, uint64_t program_address, uint64_t program_bytes,
                     const spyre_sim_segment *segments, uint32_t segment_count);

/* "SPYRE-E7002: out-of-bounds: core 3 phase 0_add instruction 4 ..."; empty when the last call
   succeeded. */
const char *spyre_sim_last_error(spyre_sim *sim);
void spyre_sim_get_counters(spyre_sim *sim, spyre_sim_counters *counters);
void spyre_sim_reset_counters(spyre_sim *sim);
/* LX bytes of one core, for tests and debuggers. */
int spyre_sim_read_lx(spyre_sim *sim, uint32_t core, uint64_t address, void *data, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
