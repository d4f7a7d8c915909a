// The simulated libge_common_base.so and libge_common.so: there under their names because programs link them; what they hold in CANN is not
// simulated.
extern "C" __attribute__((visibility("default"))) const char *SimulatedGeCommon() { return "simulated"; }
