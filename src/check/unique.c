// SPDX-License-Identifier: Apache-2.0
#include "check/checker.h"
void unique_check(Checker *ck, Binding *global) { (void)ck; (void)global; }
