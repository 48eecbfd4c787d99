#pragma once
#include "unreal_nne.h"

#undef GENERATED_BODY
#define GENERATED_BODY() \
public: \
    using UAnimInstance::UAnimInstance;
